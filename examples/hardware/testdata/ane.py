"""A stand-in for the Python binding of the driver: its model returns the array of the file STANDIN_OUTPUT."""
import os
import struct

import numpy as np


class model:
    def __init__(self, path):
        with open(path, "rb") as f:
            head = f.read(0x6a8)
        self.src_count, self.dst_count = struct.unpack_from("<II", head, 0x20)
        tensors = [struct.unpack_from("<6Q", head, 0xa8 + 48 * i) for i in range(32)]
        self.dst_nchw = tuple(tensors[4:4 + self.dst_count])
        self.src_nchw = tuple(tensors[4 + self.dst_count:4 + self.dst_count + self.src_count])

    def predict(self, inputs):
        assert [x.shape for x in inputs] == [t[:4] for t in self.src_nchw]
        assert all(x.dtype == np.float16 for x in inputs)
        return [np.load(os.environ["STANDIN_OUTPUT"]).reshape(self.dst_nchw[0][:4])]
