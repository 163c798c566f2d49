#!/usr/bin/env python3
"""Evaluates Core ML neural networks with NumPy: evaluate.py MODEL FOLDER ...

It reads the file and computes the layers by itself, in float64 and with all five dimensions [sequence, batch, channels,
height, width], so that a fault of zinc's reader is not repeated here. FOLDER has an array for each input, NAME.npy, and
gets one for each output, 0.out.npy and so on; a classifier's output is the probabilities. Images are [1, channels,
height, width] with values 0 to 255.
"""
import os
import struct
import sys

import numpy as np


def varint(b, i):
    n = shift = 0
    while True:
        c = b[i]
        i += 1
        n |= (c & 127) << shift
        shift += 7
        if c < 128:
            return n, i


def fields(b):
    """The fields of a message: (number, value), bytes for fields with a length."""
    i = 0
    while i < len(b):
        key, i = varint(b, i)
        wire = key & 7
        if wire == 0:
            v, i = varint(b, i)
        elif wire == 2:
            n, i = varint(b, i)
            v, i = b[i:i + n], i + n
        elif wire == 5:
            v, i = bytes(b[i:i + 4]), i + 4
        else:
            v, i = bytes(b[i:i + 8]), i + 8
        yield key >> 3, v


class Message:
    def __init__(self, b):
        self.f = {}
        for k, v in fields(b):
            self.f.setdefault(k, []).append(v)

    def has(self, k):
        return k in self.f

    def msg(self, k):
        return Message(self.f.get(k, [b""])[-1])

    def msgs(self, k):
        return [Message(v) for v in self.f.get(k, [])]

    def int(self, k, default=0):
        v = self.f.get(k, [default])[-1]
        return v - (1 << 64) if v >= 1 << 63 else v

    def float(self, k, default=0.0):
        v = self.f.get(k)
        return struct.unpack("<f", v[-1])[0] if v else default

    def ints(self, k):
        out = []
        for v in self.f.get(k, []):
            if isinstance(v, int):
                out.append(v)
                continue
            i = 0
            while i < len(v):
                n, i = varint(v, i)
                out.append(n - (1 << 64) if n >= 1 << 63 else n)
        return out

    def floats(self, k):
        return np.frombuffer(b"".join(bytes(v) for v in self.f.get(k, [])), "<f4").astype(np.float64)

    def text(self, k):
        return bytes(self.f.get(k, [b""])[-1]).decode()

    def texts(self, k):
        return [bytes(v).decode() for v in self.f.get(k, [])]


def weights(m, shape, channel=0):
    n = int(np.prod(shape))
    if m.has(30):  # rawValue
        q = m.msg(40)
        bits = q.int(1)
        stream = np.unpackbits(np.frombuffer(bytes(m.f[30][-1]), np.uint8))[:n * bits].reshape(n, bits)
        index = stream.astype(np.int64) @ (1 << np.arange(bits)[::-1])
        if q.has(102):
            return q.msg(102).floats(1)[index].reshape(shape)
        scale, bias = q.msg(101).floats(1), q.msg(101).floats(2)
        if len(bias) == 0:
            bias = np.zeros(1)
        along = [1] * len(shape)
        along[channel] = -1
        return index.reshape(shape) * scale.reshape(along) + bias.reshape(along)
    if m.has(2):
        return np.frombuffer(bytes(m.f[2][-1]), "<f2").astype(np.float64).reshape(shape)
    return m.floats(1).reshape(shape)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def activation(m, x):
    per = lambda w, c: weights(w, (-1,) if len(w.floats(1)) in (1, c) else (c,)).reshape(-1, 1, 1)
    k = next(iter(m.f))
    p = m.msg(k)
    a, b = (0, 0) if k in (25, 71) else (p.float(1), p.float(2))
    return {
        5: lambda: a * x + b, 10: lambda: np.maximum(x, 0), 15: lambda: np.where(x >= 0, x, a * x),
        20: lambda: np.where(x >= a, x, 0), 25: lambda: np.where(x >= 0, x, per(p.msg(1), x.shape[-3]) * x),
        30: lambda: np.tanh(x), 31: lambda: a * np.tanh(b * x), 40: lambda: sigmoid(x),
        41: lambda: np.clip(a * x + b, 0, 1), 50: lambda: np.where(x >= 0, x, a * np.expm1(x)),
        60: lambda: x / (1 + np.abs(x)), 70: lambda: np.logaddexp(0, x),
        71: lambda: per(p.msg(1), x.shape[-3]) * np.log1p(np.exp(per(p.msg(2), x.shape[-3]) * x)),
    }[k]()


def borders(m):
    es = m.msgs(10)
    return [(e.int(1), e.int(2)) for e in es] if es else [(0, 0), (0, 0)]


def same(n, k, s, upper=True):
    total = max(0, (-(-n // s) - 1) * s + k - n)
    return (total // 2, total - total // 2) if upper else (total - total // 2, total // 2)


def windows(x, k, s, d, out):
    """For each tap of a kernel its offset and the elements under it."""
    for i in range(k[0]):
        for j in range(k[1]):
            yield i, j, x[..., i * d[0]:i * d[0] + (out[0] - 1) * s[0] + 1:s[0],
                          j * d[1]:j * d[1] + (out[1] - 1) * s[1] + 1:s[1]]


def convolution(m, xs):
    x = xs[0]
    co, per, g = m.int(1), m.int(2), m.int(10) or 1
    k, s, d = m.ints(20) or [3, 3], m.ints(30) or [1, 1], m.ints(40) or [1, 1]
    bias = weights(m.msg(91), (co, 1, 1)) if m.int(70) else np.zeros((co, 1, 1))
    lead, (ci, h, w) = x.shape[:-3], x.shape[-3:]
    if m.int(60):
        return deconvolution(m, x, co, per, g, k, s, bias)
    W = xs[1].reshape(co, per, *k) if len(xs) > 1 else weights(m.msg(90), (co, per, *k))
    if m.has(51):
        upper = m.msg(51).int(1) == 0
        pads = [same(n, (a - 1) * e + 1, b, upper) for n, a, b, e in zip((h, w), k, s, d)]
    else:
        pads = borders(m.msg(50).msg(1))
    x = np.pad(x.reshape(-1, ci, h, w), [(0, 0), (0, 0)] + pads)
    out = [(x.shape[2 + i] - (k[i] - 1) * d[i] - 1) // s[i] + 1 for i in range(2)]
    y = np.zeros((x.shape[0], co, out[0] * out[1]))
    for i, j, under in windows(x, k, s, d, out):
        for n in range(x.shape[0]):
            for q in range(g):
                rows = slice(q * co // g, (q + 1) * co // g)
                y[n, rows] += W[rows, :, i, j] @ under[n, q * per:(q + 1) * per].reshape(per, -1)
    return y.reshape(*lead, co, *out) + bias


def deconvolution(m, x, co, per, g, k, s, bias):
    lead, (ci, h, w) = x.shape[:-3], x.shape[-3:]
    W = weights(m.msg(90), (ci, co // g, *k), 1)
    x = x.reshape(-1, ci, h, w)
    full = [(h - 1) * s[0] + k[0], (w - 1) * s[1] + k[1]]
    y = np.zeros((x.shape[0], co, *full))
    for n in range(x.shape[0]):
        for q in range(g):
            ins, outs = slice(q * ci // g, (q + 1) * ci // g), slice(q * co // g, (q + 1) * co // g)
            for i in range(k[0]):
                for j in range(k[1]):
                    y[n, outs, i:i + (h - 1) * s[0] + 1:s[0], j:j + (w - 1) * s[1] + 1:s[1]] += np.tensordot(
                        W[ins, :, i, j].T, x[n, ins], 1)
    want = m.ints(100) or ([h * s[0], w * s[1]] if m.has(51) else None)
    if want is None:
        (t, b), (l, r) = borders(m.msg(50).msg(1))
        y = y[:, :, t:full[0] - b, l:full[1] - r]
    else:
        for i in range(2):
            extra = full[i] - want[i]
            if extra >= 0:
                y = np.take(y, range(extra // 2, extra // 2 + want[i]), 2 + i)
            else:
                y = np.pad(y, [(0, -extra) if a == 2 + i else (0, 0) for a in range(4)])
    return y.reshape(*lead, *y.shape[1:]) + bias


def pooling(m, x):
    kind = m.int(1)
    if m.int(60):
        f = [lambda a: a.max((-2, -1), keepdims=True), lambda a: a.mean((-2, -1), keepdims=True),
             lambda a: np.sqrt((a * a).sum((-2, -1), keepdims=True))]
        return f[kind](x)
    k, s = m.ints(10) or [3, 3], m.ints(20) or [1, 1]
    size = x.shape[-2:]
    if m.has(32):
        p = m.msg(32).ints(10) or [0, 0]
        pads = []
        for i in range(2):
            n = -(-(size[i] + 2 * p[i] - k[i]) // s[i]) + 1
            if any(p) and (n - 1) * s[i] >= size[i] + p[i]:
                n -= 1
            pads.append((p[i], max(0, (n - 1) * s[i] + k[i] - size[i] - p[i])))
    elif m.has(31):
        pads = [same(n, a, b, m.msg(31).int(1) == 0) for n, a, b in zip(size, k, s)]
    else:
        pads = borders(m.msg(30).msg(1))
    around = [(0, 0)] * (x.ndim - 2) + pads
    out = [(size[i] + sum(pads[i]) - k[i]) // s[i] + 1 for i in range(2)]
    padded = np.pad(x, around, constant_values=-np.inf if kind == 0 else 0)
    taps = [u for _, _, u in windows(padded, k, s, [1, 1], out)]
    if kind == 0:
        return np.maximum.reduce(taps)
    if kind == 2:
        return np.sqrt(sum(t * t for t in taps))
    ones = np.pad(np.ones_like(x), around, constant_values=0 if m.int(50) else 1)
    return sum(taps) / sum(u for _, _, u in windows(ones, k, s, [1, 1], out))


def inner(m, x):
    W, b = weights(m.msg(20), (m.int(2), m.int(1))), weights(m.msg(21), (m.int(2),)) if m.int(10) else 0
    if x.ndim < 4:
        return x @ W.T + b
    y = x.reshape(*x.shape[:-3], -1) @ W.T + b
    return y[..., None, None]


def batchnorm(m, x):
    c = m.int(1)
    w = lambda k, default: weights(m.msg(k), (c, 1, 1)) if m.has(k) else default
    if m.int(5):
        mean, var = x.mean((-2, -1), keepdims=True), x.var((-2, -1), keepdims=True)
    else:
        mean, var = w(17, 0), w(18, 1)
    return w(15, 1) * (x - mean) / np.sqrt(var + (m.float(10) or 1e-5)) + w(16, 0)


def unary(m, x):
    z = (m.float(5) or 1) * x + m.float(4)
    a, e = m.float(2), m.float(3) or 1e-6
    return [np.sqrt, lambda z: 1 / np.sqrt(z + e), lambda z: 1 / (z + e), lambda z: z ** a, np.exp, np.log, np.abs,
            lambda z: np.maximum(z, a)][m.int(1)](z)


def grid(n, out, kind):
    i = np.arange(out)
    if kind == "endpoints":
        g = i * (n - 1) / max(out - 1, 1)
    elif kind == "roi":
        g = np.minimum((i + 0.5) * max(1, n - 1) / out, n - 1)
    elif kind == "corners":
        g = np.clip((i + 0.5) * n / out - 0.5, 0, n - 1)
    else:
        g = np.minimum(i * n / out, n - 1)
    lo = np.floor(g).astype(int)
    return lo, np.minimum(lo + 1, n - 1), g - lo


def bilinear(x, size, kind):
    (a, b, f), (c, d, g) = grid(x.shape[-2], size[0], kind), grid(x.shape[-1], size[1], kind)
    x = x[..., a, :] * (1 - f)[:, None] + x[..., b, :] * f[:, None]
    return x[..., c] * (1 - g) + x[..., d] * g


def upsample(m, x):
    f = m.ints(1) or [1, 1]
    if m.int(5) == 0:
        return x.repeat(f[0], -2).repeat(f[1], -1)
    return bilinear(x, [x.shape[-2] * f[0], x.shape[-1] * f[1]], ["default", "endpoints", "corners"][m.int(6)])


def slice_one(m, x):
    axis = [-3, -2, -1][m.int(4)]
    lo, hi, step = m.int(1), m.int(2), m.int(3) or 1
    index = [slice(None)] * x.ndim
    index[axis] = slice(lo, hi if hi or lo >= 0 else None, step)
    return x[tuple(index)]


def reduce(m, x):
    axis = [(-3, -2, -1), (-2, -1), (-3,), (-2,), (-1,)][m.int(3)]
    f = [np.sum, np.mean, np.prod, lambda a, **k: np.log(np.sum(a, **k) + (m.float(2) or 1e-6)),
         lambda a, **k: np.sum(a * a, **k), lambda a, **k: np.sum(np.abs(a), **k),
         lambda a, **k: np.sqrt(np.sum(a * a, **k)), np.max, np.min]
    if m.int(1) == 9:
        return np.expand_dims(np.argmax(x, axis[0]), axis[0]).astype(np.float64)
    return f[m.int(1)](x, axis=axis, keepdims=True)


def flatten(m, x):
    if m.int(1):
        x = np.moveaxis(x, -3, -1)
    return x.reshape(*x.shape[:-3], -1, 1, 1)


def reshape(m, x):
    t = m.ints(1)
    seq = x.shape[0] if len(t) == 3 else t[0]
    c, h, w = t[-3:]
    if m.int(2):
        return np.moveaxis(np.moveaxis(x, -3, -1).reshape(seq, x.shape[1], h, w, c), -1, -3)
    return x.reshape(seq, x.shape[1], c, h, w)


def permute(m, x):
    a = m.ints(1)
    assert x.shape[1] == 1
    return x[:, 0].transpose(a)[:, None]


def padding(m, x):
    pads = [(0, 0)] * (x.ndim - 2) + borders(m.msg(10))
    if m.has(2):
        return np.pad(x, pads, "reflect")
    if m.has(3):
        return np.pad(x, pads, "edge")
    return np.pad(x, pads, constant_values=m.msg(1).float(1))


def crop(m, xs):
    x = xs[0]
    if len(xs) == 2:
        o = m.ints(5) or [0, 0]
        return x[..., o[0]:o[0] + xs[1].shape[-2], o[1]:o[1] + xs[1].shape[-1]]
    (t, b), (l, r) = borders(m.msg(1))
    return x[..., t:x.shape[-2] - b, l:x.shape[-1] - r]


def shaped(m, shape, field):
    s = m.ints(shape)
    return weights(m.msg(field), s if len(s) == 3 else s + [1, 1])


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def embedding(m, x):
    table = weights(m.msg(20), (m.int(2), m.int(1))).T
    y = table[x[:, 0, 0, 0, 0].astype(int)] + (weights(m.msg(21), (m.int(2),)) if m.int(10) else 0)
    return y[:, None, :, None, None]


def matmul(m, xs):
    if len(xs) == 2:
        a, b = (x.swapaxes(-1, -2) if m.int(k) else x for k, x in zip((1, 2), xs))
        return a @ b
    W = weights(m.msg(8), (m.int(6), m.int(5)))
    return xs[0] @ W.T + (weights(m.msg(9), (m.int(6),)) if m.int(7) else 0)


def gates(ms):
    names = {5: lambda x: x, 10: lambda x: np.maximum(x, 0), 30: np.tanh, 40: sigmoid}
    return [names[next(iter(a.f))] for a in ms]


def lstm_direction(w, p, acts, x, n, h, c, back):
    x = x[::-1] if back else x
    b = [weights(w.msg(k), (n,)) if p.int(20) else 0 for k in (40, 41, 42, 43)]
    if p.int(30):
        b[1] = b[1] + 1
    W = [weights(w.msg(k), (n, x.shape[1])) for k in (1, 2, 3, 4)]
    R = [weights(w.msg(k), (n, n)) for k in (20, 21, 22, 23)]
    peep = [weights(w.msg(k), (n,)) if p.int(40) else 0 for k in (60, 61, 62)]
    f, g, o = acts
    limit, clip = 50, p.float(60) or 50
    out = np.zeros((x.shape[0], n))
    for t in range(x.shape[0]):
        z = [np.clip(W[k] @ x[t] + R[k] @ h + b[k] + (peep[k] * c if k < 2 else 0), -limit, limit) for k in range(4)]
        c = np.clip(f(z[1]) * c + f(z[0]) * g(z[2]), -clip, clip)
        h = f(np.clip(z[3] + peep[2] * c, -limit, limit)) * o(c)
        out[t] = h
    return out, h, c


def lstm(m, xs, both):
    n, p = m.int(2), m.msg(15)
    x = xs[0][:, 0, :, 0, 0]
    state = lambda i: xs[i].reshape(-1) if i < len(xs) else np.zeros(n)
    acts = gates(m.msgs(10))
    y, h, c = lstm_direction(m.msgs(20)[0], p, acts, x, n, state(1), state(2), not both and m.int(100))
    outs = [h, c]
    if both:
        y2, h2, c2 = lstm_direction(m.msgs(20)[1], p, gates(m.msgs(11)), x, n, state(3), state(4), True)
        y, last = np.concatenate([y, y2[::-1]], 1), np.concatenate([h, h2])  # both in the order of the input
        outs += [h2, c2]
    else:
        last = h
    return [v[:, None, :, None, None] for v in [y if p.int(10) else last[None]] + [o[None] for o in outs]]


def gru(m, xs):
    n = m.int(2)
    x, h = xs[0][:, 0, :, 0, 0], xs[1].reshape(-1) if len(xs) > 1 else np.zeros(n)
    x = x[::-1] if m.int(100) else x  # outputs are in the order of processing
    W = [weights(m.msg(k), (n, m.int(1))) for k in (30, 31, 32)]
    R = [weights(m.msg(k), (n, n)) for k in (50, 51, 52)]
    b = [weights(m.msg(k), (n,)) if m.int(20) else 0 for k in (70, 71, 72)]
    f, g = gates(m.msgs(10))
    out = np.zeros((len(x), n))
    for t in range(len(x)):
        z, r = f(W[0] @ x[t] + R[0] @ h + b[0]), f(W[1] @ x[t] + R[1] @ h + b[1])
        h = (1 - z) * g(W[2] @ x[t] + R[2] @ (r * h) + b[2]) + z * h
        out[t] = h
    return [v[:, None, :, None, None] for v in [out if m.int(15) else h[None], h[None]]]


def rnn(m, xs):
    n = m.int(2)
    x, h = xs[0][:, 0, :, 0, 0], xs[1].reshape(-1) if len(xs) > 1 else np.zeros(n)
    x = x[::-1] if m.int(100) else x
    W, R = weights(m.msg(30), (n, m.int(1))), weights(m.msg(31), (n, n))
    b, (f,) = weights(m.msg(32), (n,)) if m.int(20) else 0, gates([m.msg(10)])
    out = np.zeros((len(x), n))
    for t in range(len(x)):
        h = f(W @ x[t] + R @ h + b)
        out[t] = h
    return [v[:, None, :, None, None] for v in [out if m.int(15) else h[None], h[None]]]


def mvn(m, x):
    axes = (-3, -2, -1) if m.int(1) else (-2, -1)
    y = x - x.mean(axes, keepdims=True)
    return y / np.sqrt(x.var(axes, keepdims=True) + (m.float(3) or 1e-6)) if m.int(2) else y


def lrn(m, x):
    a, b, n, k = m.float(1), m.float(2), m.int(3), m.float(4) or 1
    c = x.shape[-3]
    y = np.empty_like(x)
    for i in range(c):
        lo, hi = max(0, i - (n - 1) // 2), min(c, i + n // 2 + 1)
        y[..., i, :, :] = x[..., i, :, :] / (k + a / n * (x[..., lo:hi, :, :] ** 2).sum(-3)) ** b
    return y


def reorganize(m, x):
    b, s = m.int(2), x.shape
    if m.int(1) == 0:
        x = x.reshape(*s[:-2], s[-2] // b, b, s[-1] // b, b)
        return np.moveaxis(x, (-3, -1), (-6, -5)).reshape(*s[:-3], b * b * s[-3], s[-2] // b, s[-1] // b)
    order = (b, b, s[-3] // b // b) if m.int(1) == 1 else (s[-3] // b // b, b, b)
    x = x.reshape(*s[:-3], *order, *s[-2:])
    if m.int(1) == 1:
        x = np.moveaxis(x, -3, -5)
    n = x.ndim
    lead = list(range(n - 5))
    x = x.transpose(lead + [n - 5, n - 2, n - 4, n - 1, n - 3])
    return x.reshape(*s[:-3], s[-3] // b // b, s[-2] * b, s[-1] * b)


def layer(kind, m, xs, outs):
    x = xs[0] if xs else None
    fold = lambda f, one: f.reduce(np.broadcast_arrays(*xs)) if len(xs) > 1 else one
    return {
        100: lambda: convolution(m, xs), 120: lambda: pooling(m, x), 130: lambda: activation(m, x),
        140: lambda: inner(m, x), 150: lambda: embedding(m, x), 160: lambda: batchnorm(m, x), 165: lambda: mvn(m, x),
        170: lambda: x / np.sqrt((x * x).sum((-3, -2, -1), keepdims=True) + (m.float(1) or 1e-6)),
        175: lambda: softmax(x, -3), 180: lambda: lrn(m, x), 190: lambda: crop(m, xs), 200: lambda: padding(m, x),
        210: lambda: upsample(m, x),
        211: lambda: bilinear(x, m.ints(1) or [1, 1], ["endpoints", "endpoints", "default", "roi"][m.msg(2).int(1)]),
        220: lambda: unary(m, x), 230: lambda: fold(np.add, x + m.float(1)),
        231: lambda: fold(np.multiply, x * m.float(1)), 240: lambda: sum(xs) / len(xs),
        245: lambda: x * shaped(m, 1, 2) + (shaped(m, 4, 5) if m.int(3) else 0), 250: lambda: x + shaped(m, 1, 2),
        260: lambda: fold(np.maximum, x), 261: lambda: fold(np.minimum, x),
        270: lambda: (xs[0] * xs[1]).sum(-3, keepdims=True), 280: lambda: reduce(m, x),
        290: lambda: weights(m.msg(2), [1, 1] + m.ints(1)), 300: lambda: reshape(m, x), 301: lambda: flatten(m, x),
        310: lambda: permute(m, x), 320: lambda: np.concatenate(xs, -5 if m.int(100) else -3),
        330: lambda: np.split(x, len(outs), -3), 340: lambda: np.tile(x, (m.int(1) or 1, 1, 1, 1, 1)),
        345: lambda: reorganize(m, x), 350: lambda: slice_one(m, x), 400: lambda: rnn(m, xs), 410: lambda: gru(m, xs),
        420: lambda: lstm(m, xs, False), 430: lambda: lstm(m, xs, True), 600: lambda: x,
        880: lambda: fold(np.add, x), 900: lambda: fold(np.multiply, x), 950: lambda: softmax(x, m.int(1)),
        980: lambda: np.concatenate(xs, m.int(1)), 985: lambda: x.transpose(m.ints(1)), 1045: lambda: matmul(m, xs),
        1070: lambda: weights(m.msg(2), m.ints(1)),
    }[kind]()


def image(m, name, x, colour):
    for p in m.msgs(2):
        if p.text(1) not in ("", name):
            continue
        if p.has(11):
            x = x - p.msg(11).floats(1).reshape(1, *x.shape[1:])
        else:
            s = p.msg(10)
            order = {20: (22, 21, 20), 30: (20, 21, 22)}.get(colour, (30,))
            x = s.float(10) * x + np.array([s.float(k) for k in order]).reshape(-1, 1, 1)
    return x


def evaluate(path, inputs):
    with open(path, "rb") as f:
        model = Message(memoryview(f.read()))
    m = next(model.msg(k) for k in (500, 403, 303) if model.has(k))
    tensors = {}
    for feature in model.msg(2).msgs(1):
        name, kind = feature.text(1), feature.msg(3)
        x = np.asarray(inputs[name], np.float64)
        if kind.has(4):
            x = image(m, name, x, kind.msg(4).int(3))
            x = x[None] if m.int(6) == 0 else x
        elif m.int(5) == 0:
            x = x.reshape(1, 1, -1, 1, 1) if x.ndim == 1 else x.reshape(1, 1, *x.shape)
        tensors[name] = x
    for l in m.msgs(1):
        kind = next(k for k in l.f if k >= 100)
        outs = l.texts(3)
        y = layer(kind, l.msg(kind), [tensors[n] for n in l.texts(2)], outs)
        tensors.update(zip(outs, y if isinstance(y, list) else [y]))
    declared = [f.text(1) for f in model.msg(2).msgs(10)]
    return [tensors[n] for n in declared if n in tensors] or [tensors[m.text(200) or outs[0]]]


if __name__ == "__main__":
    for model, folder in zip(sys.argv[1::2], sys.argv[2::2]):
        given = {f[:-4]: np.load(os.path.join(folder, f)) for f in os.listdir(folder) if f.endswith(".npy")}
        for i, value in enumerate(evaluate(model, given)):
            np.save(os.path.join(folder, f"{i}.out.npy"), np.asarray(value))
