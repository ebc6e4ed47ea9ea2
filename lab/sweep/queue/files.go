package queue

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hop-marl/hop/num/disk"
)

// part is how many bytes a message of a file holds.
const part = 256 << 10

// longest is how long sending a folder may take: a server that a thousand workers send to at once is slow, and
// to begin anew would make it slower.
const longest = 15 * time.Minute

// Send puts a folder into the store. It goes in parts; the server keeps a sum of all, and
// a reader sees the whole file or none. It returns that sum.
func (q *Queue) Send(ctx context.Context, name, dir string) (sum string, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	r, w := io.Pipe()
	go func() { w.CloseWithError(pack(w, dir)) }()
	sum, err = q.put(ctx, name, r)
	r.CloseWithError(err)
	if err != nil {
		return "", fmt.Errorf("sweep: sending %s: %w", filepath.Base(dir), err)
	}
	return sum, nil
}

// put writes a file as the library's Put does (NATS ADR-20: parts under a new subject, then what the file is), but a
// part goes only when the server has the one before on its disk, and is whole, since each costs an fsync.
func (q *Queue) put(ctx context.Context, name string, r io.Reader) (string, error) {
	old, err := q.files.GetInfo(ctx, name)
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return "", err
	}
	bucket := "hop-" + q.Sweep
	info := &jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: part}}, Bucket: bucket, NUID: rand.Text(),
	}
	sum, b := sha256.New(), make([]byte, part)
	for err = nil; err == nil; {
		var n int
		if n, err = io.ReadFull(r, b); n > 0 {
			info.Size, info.Chunks = info.Size+uint64(n), info.Chunks+1
			sum.Write(b[:n])
			if lost := q.publish(ctx, &nats.Msg{Subject: q.chunks(info.NUID), Data: b[:n]}); lost != nil {
				err = lost
			}
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		info.Digest = jetstream.GetObjectDigestValue(sum)
		var text []byte
		if text, err = json.Marshal(info); err == nil {
			m := nats.NewMsg("$O." + bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name)))
			m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
			m.Data = text
			err = q.publish(ctx, m)
		}
	}
	useless := info.NUID // parts that nobody reads
	if err == nil {
		if old == nil || old.Deleted {
			return info.Digest, nil
		}
		useless = old.NUID
	}
	if store, lost := q.store(context.WithoutCancel(ctx)); lost == nil {
		_ = store.Purge(context.WithoutCancel(ctx), jetstream.WithPurgeSubject(q.chunks(useless)))
	}
	return info.Digest, err
}

// chunks is where the parts of a writing of a file are.
func (q *Queue) chunks(object string) string { return "$O.hop-" + q.Sweep + ".C." + object }

// store is the stream that keeps files.
func (q *Queue) store(ctx context.Context) (jetstream.Stream, error) {
	return q.js.Stream(ctx, "OBJ_hop-"+q.Sweep)
}

// publish sends a message and waits until the server has it on its disk.
func (q *Queue) publish(ctx context.Context, m *nats.Msg) error {
	taken, err := q.js.PublishMsgAsync(m)
	if err != nil {
		return err
	}
	select {
	case <-taken.Ok():
		return nil
	case err := <-taken.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ErrGone says that a file is not in the store any more.
var ErrGone = errors.New("sweep: the store does not have it any more")

// Fetch puts a folder of the store into dir, which must not be there. It appears whole or
// not at all, and only if its sum is this one.
func (q *Queue) Fetch(ctx context.Context, name, sum, dir string) (err error) {
	r, err := q.files.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		err = ErrGone
	}
	if err != nil {
		return fmt.Errorf("sweep: fetching %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if info, err := r.Info(); err != nil || info.Digest != sum {
		return fmt.Errorf("sweep: fetching %s: %w: another folder is in its place", name, errors.Join(ErrGone, err))
	}
	if err := settle(r, dir); err != nil {
		return fmt.Errorf("sweep: fetching %s: %w", name, err)
	}
	if err := r.Error(); err != nil {
		return fmt.Errorf("sweep: fetching %s: %w", name, err)
	}
	return nil
}

// settle unpacks a folder to its place, whole or not at all. What follows the folder is read too, to where sums are
// compared.
func settle(r io.Reader, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	raw, err := os.MkdirTemp(filepath.Dir(dir), ".fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(raw)
	if err := unpack(r, raw); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	if err := os.Chmod(raw, 0o755); err != nil {
		return err
	}
	if err := os.Rename(raw, dir); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(dir))
}

// Drop removes a folder from the store; one that is not there is fine.
func (q *Queue) Drop(ctx context.Context, name string) error {
	err := q.files.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return err
}

// packers and unpackers are kept, since each has megabytes of buffers.
var (
	packers = sync.Pool{New: func() any {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			panic(err) // the options are good
		}
		return z
	}}
	unpackers = sync.Pool{New: func() any {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			panic(err)
		}
		return z
	}}
)

// pack writes a folder's files, in the order of their names, without times and owners: equal
// folders give equal bytes.
func pack(w io.Writer, dir string) error {
	z := packers.Get().(*zstd.Encoder)
	z.Reset(w)
	defer packers.Put(z)
	t := tar.NewWriter(z)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		h := &tar.Header{Name: filepath.ToSlash(rel), Mode: 0o644, Typeflag: tar.TypeReg, Size: info.Size()}
		switch {
		case d.IsDir():
			h.Name, h.Mode, h.Typeflag, h.Size = h.Name+"/", 0o755, tar.TypeDir, 0
			return t.WriteHeader(h)
		case !d.Type().IsRegular():
			return nil // links and sockets are nobody's result
		case d.Name() == disk.LockFile:
			return nil // of a process that was here
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		_, err = io.CopyN(t, f, info.Size())
		return errors.Join(err, f.Close())
	})
	return errors.Join(err, t.Close(), z.Close())
}

// unpack writes what pack has read, nothing outside dir, and brings it to the disk.
func unpack(r io.Reader, dir string) error {
	z := unpackers.Get().(*zstd.Decoder)
	defer unpackers.Put(z)
	if err := z.Reset(r); err != nil {
		return err
	}
	defer func() { _ = z.Reset(nil) }() // lets the reader go
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(h.Name)
		if !fs.ValidPath(name) || strings.Contains(name, "\\") {
			return fmt.Errorf("a file is called %q", h.Name)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			if err := root.MkdirAll(filepath.FromSlash(name), 0o755); err != nil {
				return err
			}
		case tar.TypeReg:
			f, err := root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err != nil {
				return err
			}
			_, err = io.Copy(f, t)
			if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is neither a file nor a folder", h.Name)
		}
	}
}
