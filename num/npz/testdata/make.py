# Made the .npz and .npy files beside it, once, with numpy 2.4.6: python3 make.py
import io
import numpy as np

arrays = dict(
    f4=np.array([[1.5, -2, np.inf], [0, 1e-45, 3]], "<f4"),
    f8=np.array([np.pi, -0.0]),
    i1=np.array([-128, 127], "i1"),
    u1=np.array([[[0], [255]]], "u1"),
    i2=np.array([-32768, 32767], "<i2"),
    i4=np.array(-7, "<i4"),
    i8=np.array([-(2**63), 2**63 - 1], "<i8"),
    b1=np.array([True, False, True]),
    empty=np.zeros((0, 3), "<f4"),
)
np.savez("stored.npz", **arrays)
np.savez_compressed("deflated.npz", **arrays)
with open("v2.npy", "wb") as f:
    np.lib.format.write_array(f, np.arange(3, dtype="<i4"), version=(2, 0))
np.save("f4.npy", arrays["f4"])
np.save("fortran.npy", np.asfortranarray(arrays["f4"]))
np.save("big.npy", arrays["f4"].astype(">f4"))
np.save("half.npy", arrays["f4"].astype("<f2"))
np.save("object.npy", np.array([{}, None], object), allow_pickle=True)
np.save("struct.npy", np.zeros(2, [("a", "<f4"), ("b", "<i8")]))
np.save("text.npy", np.array(["ab"]))
