package film

import "encoding/binary"

// The measures of GIF's packing of bytes (LZW with codes of 9 to 12 bits).
const (
	clearCode = 256
	endCode   = 257
	lastCode  = 4095
	codeTable = 4 << 12
)

// packer packs the pixels of images as GIF wants them, into the same bytes as
// compress/lzw. It is faster where most pixels are 0, as in images that hold
// only what changed: it knows the codes of runs of zeros and skips over them.
type packer struct {
	table [codeTable]uint32 // prefix<<20 | pixel<<12 | code, 0: free
	zeros []uint32          // the codes of 1, 2, 3, ... zeros, after one that is not used
	last  uint32            // the latest code that was given
	width uint              // bits of a code
	bits  uint64            // bits that wait for a whole byte
	n     uint              // how many
	out   []byte
}

// pack appends the codes of pix to dst.
func (p *packer) pack(dst, pix []byte) []byte {
	p.out, p.bits, p.n = dst, 0, 0
	p.restart()
	p.write(clearCode)
	code := uint32(pix[0])
scan:
	for i := 1; i < len(pix); i++ {
		if code == 0 { // a run of zeros, of which one is behind
			most := min(len(p.zeros)-2, len(pix)-i)
			k := 0
			for k+8 <= most && binary.LittleEndian.Uint64(pix[i+k:]) == 0 {
				k += 8
			}
			for k < most && pix[i+k] == 0 {
				k++
			}
			code = p.zeros[1+k]
			if i += k; i == len(pix) {
				break
			}
		}
		x := uint32(pix[i])
		key := code<<8 | x
		at := (key>>12 ^ key) % codeTable
		for ; p.table[at] != 0; at = (at + 1) % codeTable {
			if p.table[at]>>12 == key {
				code = p.table[at] & lastCode
				continue scan
			}
		}
		p.write(code)
		run := x == 0 && code == p.zeros[len(p.zeros)-1]
		code = x
		if p.give() {
			p.table[at] = key<<12 | p.last
			if run {
				p.zeros = append(p.zeros, p.last)
			}
		}
	}
	p.write(code)
	p.give()
	p.write(endCode)
	if p.n > 0 {
		p.out = append(p.out, byte(p.bits))
	}
	return p.out
}

// restart forgets all codes but those of single pixels.
func (p *packer) restart() {
	clear(p.table[:])
	p.zeros = append(p.zeros[:0], 0, 0)
	p.last, p.width = endCode, 9
}

// give counts a new code, or starts anew and reports false if there are no more.
func (p *packer) give() bool {
	p.last++
	if p.last == 1<<p.width {
		p.width++
	}
	if p.last < lastCode {
		return true
	}
	p.write(clearCode)
	p.restart()
	return false
}

// write appends a code, its lowest bits first.
func (p *packer) write(code uint32) {
	p.bits |= uint64(code) << p.n
	p.n += p.width
	for p.n >= 8 {
		p.out = append(p.out, byte(p.bits))
		p.bits >>= 8
		p.n -= 8
	}
}
