package cli

// controlFlow are functions with blocks: parameters, statements and results.
var controlFlow = map[string]string{
	"cond of an input": `tensor<fp16, [4]> x, tensor<fp16, [1]> p) {
        tensor<bool, [1]> g = greater(x = p, y = fp16(0.0));
        bool c = squeeze(x = g);
        tensor<fp16, [4]> y = cond(pred = c) () {
                tensor<fp16, [4]> a = relu(x = x);
            } -> (a)
        () {
                tensor<fp16, [4]> b = add(x = x, y = x);
            } -> (b);
    } -> (y);`,
	"cond of a constant": `tensor<fp16, [4]> x) {
        tensor<fp16, [4]> y = cond(pred = bool(false)) () {
                tensor<fp16, [4]> a = relu(x = x);
            } -> (a)
        () {
            } -> (x);
    } -> (y);`,
	"cond of branches of different shapes": `tensor<fp16, [4]> x, tensor<fp16, [1]> p) {
        tensor<bool, [1]> g = greater(x = p, y = fp16(0.0));
        bool c = squeeze(x = g);
        tensor<fp16, [?]> y = cond(pred = c) () {
                tensor<fp16, [8]> a = concat(values = (x, x), axis = int32(0), interleave = bool(false));
            } -> (a)
        () {
                tensor<fp16, [4]> b = add(x = x, y = x);
            } -> (b);
        tensor<fp16, []> s = reduce_sum(x = y, axes = tensor<int32, [1]>([0]), keep_dims = bool(false));
    } -> (s);`,
	"cond of branches without elements": `tensor<fp16, [2, 0]> x, tensor<fp16, [1]> p) {
        tensor<bool, [1]> g = greater(x = p, y = fp16(0.0));
        bool c = squeeze(x = g);
        tensor<fp16, [2, 0]> y = cond(pred = c) () {
                tensor<fp16, [2, 0]> a = relu(x = x);
            } -> (a)
        () {
                tensor<fp16, [2, 0]> b = add(x = x, y = x);
            } -> (b);
        tensor<fp16, [2]> s = reduce_sum(x = y, axes = tensor<int32, [1]>([1]), keep_dims = bool(false));
    } -> (s, y);`,
	"cond in cond": `tensor<fp16, [1, 8, 1, 4]> x, tensor<fp16, [1]> p) {
        tensor<bool, [1]> g = greater(x = p, y = fp16(0.0));
        bool c = squeeze(x = g);
        tensor<fp16, [1, 8, 1, 4]> y, tensor<fp16, [1, 8, 1, 4]> z = cond(pred = c) () {
                tensor<fp16, [1, 8, 1, 4]> a = cond(pred = c) () {
                        tensor<fp16, [1, 8, 1, 4]> a0 = mul(x = x, y = x);
                    } -> (a0)
                () {
                    } -> (x);
                tensor<fp16, [1, 8, 1, 4]> a1 = sigmoid(x = a);
            } -> (a, a1)
        () {
                tensor<fp16, [1, 8, 1, 4]> b = add(x = x, y = x);
            } -> (b, x);
        tensor<fp16, [1, 8, 1, 4]> w = add(x = y, y = z);
    } -> (w);`,
	"cond of a state": `state<tensor<fp16, [4]>> s, tensor<fp16, [4]> x, tensor<fp16, [1]> p) {
        tensor<bool, [1]> g = greater(x = p, y = fp16(0.0));
        bool c = squeeze(x = g);
        tensor<fp16, [4]> y = cond(pred = c) () {
                tensor<fp16, [4]> r = read_state(input = s);
                tensor<fp16, [4]> w = add(x = r, y = x);
                write_state(data = w, input = s);
            } -> (w)
        () {
                tensor<fp16, [4]> r2 = read_state(input = s);
            } -> (r2);
        tensor<fp16, [4]> r3 = read_state(input = s);
        tensor<fp16, [4]> z = add(x = r3, y = y);
    } -> (z);`,
	"state without elements": `state<tensor<fp16, [4, 0]>> s, tensor<fp16, [4, 0]> x) {
        tensor<fp16, [4, 0]> r = read_state(input = s);
        tensor<fp16, [4, 0]> w = add(x = r, y = x);
        write_state(data = w, input = s);
    } -> (w);`,
	"loop of a constant number": `tensor<fp16, [1, 8, 1, 4]> x) {
        int32 i, tensor<fp16, [1, 8, 1, 4]> y = while_loop(loop_vars = (int32(0), x)) (int32 i0,
                tensor<fp16, [1, 8, 1, 4]> x0) {
                bool c = less(x = i0, y = int32(3));
            } -> (c)
        (int32 i1, tensor<fp16, [1, 8, 1, 4]> x1) {
                int32 i2 = add(x = i1, y = int32(1));
                tensor<fp16, [1, 8, 1, 4]> x2 = tanh(x = x1);
            } -> (i2, x2);
    } -> (y, i);`,
	"loop that never runs": `tensor<fp16, [4]> x) {
        int32 i, tensor<fp16, [4]> y = while_loop(loop_vars = (int32(5), x)) (int32 i0, tensor<fp16, [4]> x0) {
                bool c = less(x = i0, y = int32(3));
            } -> (c)
        (int32 i1, tensor<fp16, [4]> x1) {
                int32 i2 = add(x = i1, y = int32(1));
                tensor<fp16, [4]> x2 = tanh(x = x1);
            } -> (i2, x2);
    } -> (y);`,
	"loop of a number that an input gives": `tensor<fp16, [4]> x, tensor<int32, [1]> n) {
        int32 m = squeeze(x = n);
        int32 i, tensor<fp16, [4]> y = while_loop(loop_vars = (int32(0), x)) (int32 i0, tensor<fp16, [4]> x0) {
                bool c = less(x = i0, y = m);
            } -> (c)
        (int32 i1, tensor<fp16, [4]> x1) {
                int32 i2 = add(x = i1, y = int32(1));
                tensor<fp16, [4]> x2 = mul(x = x1, y = fp16(0.5));
            } -> (i2, x2);
    } -> (y, i);`,
	"loop of a tensor without elements": `tensor<fp16, [0]> x) {
        int32 i, tensor<fp16, [0]> y = while_loop(loop_vars = (int32(0), x)) (int32 i0, tensor<fp16, [0]> x0) {
                bool c = less(x = i0, y = int32(3));
            } -> (c)
        (int32 i1, tensor<fp16, [0]> x1) {
                int32 i2 = add(x = i1, y = int32(1));
                tensor<fp16, [0]> x2 = tanh(x = x1);
            } -> (i2, x2);
    } -> (y);`,
	"loop whose value grows": `tensor<fp16, [1]> x) {
        int32 i, tensor<fp16, [?]> y = while_loop(loop_vars = (int32(0), x)) (int32 i0, tensor<fp16, [?]> x0) {
                bool c = less(x = i0, y = int32(60));
            } -> (c)
        (int32 i1, tensor<fp16, [?]> x1) {
                int32 i2 = add(x = i1, y = int32(1));
                tensor<fp16, [?]> x2 = concat(values = (x1, x1), axis = int32(0), interleave = bool(false));
            } -> (i2, x2);
    } -> (y);`,
	"loop in loop": `tensor<fp16, [4]> x) {
        int32 i, tensor<fp16, [4]> y = while_loop(loop_vars = (int32(0), x)) (int32 i0, tensor<fp16, [4]> x0) {
                bool c = less(x = i0, y = int32(2));
            } -> (c)
        (int32 i1, tensor<fp16, [4]> x1) {
                int32 j, tensor<fp16, [4]> x4 = while_loop(loop_vars = (int32(0), x1)) (int32 j0,
                        tensor<fp16, [4]> x2) {
                        bool d = less(x = j0, y = i1);
                    } -> (d)
                (int32 j1, tensor<fp16, [4]> x3) {
                        int32 j2 = add(x = j1, y = int32(1));
                        tensor<fp16, [4]> x5 = add(x = x3, y = x);
                    } -> (j2, x5);
                int32 i2 = add(x = i1, y = int32(1));
            } -> (i2, x4);
    } -> (y);`,
	"loop of a state": `state<tensor<fp16, [4]>> s, tensor<fp16, [4]> x) {
        int32 i, tensor<fp16, [4]> y = while_loop(loop_vars = (int32(0), x)) (int32 i0, tensor<fp16, [4]> x0) {
                bool c = less(x = i0, y = int32(3));
            } -> (c)
        (int32 i1, tensor<fp16, [4]> x1) {
                int32 i2 = add(x = i1, y = int32(1));
                tensor<fp16, [4]> r = read_state(input = s);
                tensor<fp16, [4]> w1 = add(x = r, y = x1);
                write_state(data = w1, input = s);
            } -> (i2, w1);
    } -> (y);`,
	"loop over a list": `tensor<fp16, [3, 2]> x) {
        list<tensor<fp16, [2]>, 3> l = make_list(init_length = 3, dtype = "fp16", elem_shape = (2));
        list<tensor<fp16, [2]>, 3> f = list_scatter(ls = l, indices = tensor<int32, [3]>([0, 1, 2]), value = x);
        int32 i, list<tensor<fp16, [2]>, 3> z = while_loop(loop_vars = (int32(0), f)) (int32 i0,
                list<tensor<fp16, [2]>, 3> l0) {
                bool c = less(x = i0, y = int32(3));
            } -> (c)
        (int32 i1, list<tensor<fp16, [2]>, 3> l1) {
                tensor<fp16, [2]> e = list_read(ls = l1, index = i1);
                tensor<fp16, [2]> e2 = add(x = e, y = e);
                list<tensor<fp16, [2]>, 3> l2 = list_write(ls = l1, index = i1, value = e2);
                int32 i2 = add(x = i1, y = int32(1));
            } -> (i2, l2);
        tensor<fp16, [3, 2]> y = list_gather(ls = z, indices = tensor<int32, [3]>([2, 1, 0]));
        int32 n = list_length(ls = z);
    } -> (y, n);`,
	"list of open extents": `tensor<fp32, [2, 3, 4]> x) {
        list<tensor<fp32, [?, 4]>, ?> l = make_list(init_length = 2, dtype = "fp32", elem_shape = ("rows", 4));
        list<tensor<fp32, [?, 4]>, ?> s = list_scatter(ls = l, indices = tensor<int32, [2]>([1, 0]), value = x);
        tensor<fp32, [?, 4]> one = list_read(ls = s, index = 1);
        list<tensor<fp32, [?, 4]>, ?> w = list_write(ls = s, index = 2, value = one);
        tensor<int32, []> n = list_length(ls = w);
        tensor<fp32, [3, ?, 4]> g = list_gather(ls = w, indices = tensor<int32, [3]>([0, 1, 2]));
    } -> (g, n);`,
	"list without elements": `tensor<fp16, [0, 2]> x) {
        list<tensor<fp16, [2]>, ?> l = make_list(init_length = 0, dtype = "fp16", elem_shape = (2));
        list<tensor<fp16, [2]>, ?> f = list_scatter(ls = l, indices = tensor<int32, [0]>([]), value = x);
        int32 n = list_length(ls = f);
        tensor<fp16, [0, 2]> y = list_gather(ls = f, indices = tensor<int32, [0]>([]));
    } -> (y, n);`,
	"list read beyond its end": `tensor<fp16, [2]> x) {
        list<tensor<fp16, [2]>, 1> l = make_list(init_length = 1, dynamic_length = false, dtype = "fp16",
            elem_shape = (2));
        tensor<fp16, [2]> y = list_read(ls = l, index = 7);
        tensor<fp16, [2]> z = add(x = x, y = y);
    } -> (z);`,
	"list that cond chooses": `tensor<fp16, [2]> x, tensor<fp16, [1]> p) {
        tensor<bool, [1]> g = greater(x = p, y = fp16(0.0));
        bool c = squeeze(x = g);
        list<tensor<fp16, [2]>, 1> l = make_list(init_length = 1, dtype = "fp16", elem_shape = (2));
        list<tensor<fp16, [2]>, 1> m = cond(pred = c) () {
                list<tensor<fp16, [2]>, 1> a = list_write(ls = l, index = 0, value = x);
            } -> (a)
        () {
            } -> (l);
        tensor<fp16, [2]> y = list_read(ls = m, index = 0);
    } -> (y);`,
	"cond in a loop over a list and a state": `state<tensor<fp16, [2]>> s, tensor<fp16, [2]> x) {
        list<tensor<fp16, [2]>, ?> l = make_list(init_length = 1, dtype = "fp16", elem_shape = (2));
        int32 i, list<tensor<fp16, [2]>, ?> z = while_loop(loop_vars = (int32(0), l)) (int32 i0,
                list<tensor<fp16, [2]>, ?> l0) {
                bool c = less(x = i0, y = int32(4));
            } -> (c)
        (int32 i1, list<tensor<fp16, [2]>, ?> l1) {
                bool even = less(x = i1, y = int32(2));
                tensor<fp16, [2]> e = cond(pred = even) () {
                        tensor<fp16, [2]> r = read_state(input = s);
                        tensor<fp16, [2]> a = add(x = r, y = x);
                        write_state(data = a, input = s);
                    } -> (a)
                () {
                        tensor<fp16, [2]> b = mul(x = x, y = x);
                    } -> (b);
                list<tensor<fp16, [2]>, ?> l2 = list_write(ls = l1, index = i1, value = e);
                int32 i2 = add(x = i1, y = int32(1));
            } -> (i2, l2);
        tensor<fp16, [4, 2]> y = list_gather(ls = z, indices = tensor<int32, [4]>([0, 1, 2, 3]));
    } -> (y);`,
}

// bigShapes are functions of large values: parameters, statements and results.
var bigShapes = map[string]string{
	"input of 2 GiB": `tensor<fp16, [1, 4096, 4096, 64]> x) {
        tensor<fp16, [1, 4096, 4096, 64]> y = relu(x = x);
    } -> (y);`,
	"input of more than counts": `tensor<fp16, [2000000000, 2000000000, 2000000000, 8]> x) {
        tensor<fp16, [2000000000, 2000000000, 2000000000, 8]> y = relu(x = x);
    } -> (y);`,
	"input of the largest size": `tensor<fp16, [9223372036854775807]> x) {
        tensor<fp16, [9223372036854775807]> y = relu(x = x);
    } -> (y);`,
	"broadcast of a column and a row": `tensor<fp16, [60000, 1]> x, tensor<fp16, [1, 60000]> z) {
        tensor<fp16, [60000, 60000]> y = add(x = x, y = z);
        tensor<fp16, [1, 1]> r = reduce_max(x = y, axes = tensor<int32, [2]>([0, 1]), keep_dims = bool(true));
    } -> (r);`,
	"product of a column and a row": `tensor<fp16, [60000, 1]> x, tensor<fp16, [1, 60000]> z) {
        tensor<fp16, [60000, 60000]> y = matmul(x = x, y = z, transpose_x = bool(false), transpose_y = bool(false));
        tensor<fp16, [1, 1]> r = reduce_max(x = y, axes = tensor<int32, [2]>([0, 1]), keep_dims = bool(true));
    } -> (r);`,
	"fill": `tensor<fp16, [1]> x) {
        tensor<fp16, [65536, 65536]> f = fill(shape = tensor<int32, [2]>([65536, 65536]), value = fp16(1.0));
        tensor<fp16, [65536, 65536]> y = add(x = f, y = x);
        tensor<fp16, [1, 1]> r = reduce_sum(x = y, axes = tensor<int32, [2]>([0, 1]), keep_dims = bool(true));
    } -> (r);`,
	"tile": `tensor<fp16, [1, 4]> x) {
        tensor<fp16, [2000000000, 4]> y = tile(x = x, reps = tensor<int32, [2]>([2000000000, 1]));
        tensor<fp16, [1, 1]> r = reduce_sum(x = y, axes = tensor<int32, [2]>([0, 1]), keep_dims = bool(true));
    } -> (r);`,
	"pad": `tensor<fp16, [1, 1, 4, 4]> x) {
        tensor<fp16, [1, 1, 100004, 100004]> y = pad(x = x, pad = tensor<int32, [4]>([50000, 50000, 50000, 50000]),
            mode = "constant", constant_val = fp16(0.0));
        tensor<fp16, [1, 1, 1, 1]> r = reduce_sum(x = y, axes = tensor<int32, [2]>([2, 3]), keep_dims = bool(true));
    } -> (r);`,
	"one_hot": `tensor<int32, [60000]> x) {
        tensor<fp16, [60000, 60000]> y = one_hot(indices = x, one_hot_vector_size = int32(60000), axis = int32(-1),
            on_value = fp16(1.0), off_value = fp16(0.0));
        tensor<fp16, [1, 1]> r = reduce_sum(x = y, axes = tensor<int32, [2]>([0, 1]), keep_dims = bool(true));
    } -> (r);`,
	"resize": `tensor<fp16, [1, 1, 4, 4]> x) {
        tensor<fp16, [1, 1, 100000, 100000]> y = resize_nearest_neighbor(x = x, target_size_height = int32(100000),
            target_size_width = int32(100000));
        tensor<fp16, [1, 1, 1, 1]> r = reduce_sum(x = y, axes = tensor<int32, [2]>([2, 3]), keep_dims = bool(true));
    } -> (r);`,
	"sliding windows": `tensor<fp16, [100000]> x) {
        tensor<fp16, [50001, 50000]> y = sliding_windows(x = x, axis = int32(0), size = int32(50000));
        tensor<fp16, [1, 1]> r = reduce_max(x = y, axes = tensor<int32, [2]>([0, 1]), keep_dims = bool(true));
    } -> (r);`,
	"range": `tensor<fp16, [1]> x) {
        tensor<int32, [2000000000]> y = range_1d(start = int32(0), end = int32(2000000000), step = int32(1));
        tensor<int32, [1]> r = reduce_max(x = y, axes = tensor<int32, [1]>([0]), keep_dims = bool(true));
    } -> (r, x);`,
	"state": `state<tensor<fp16, [1, 16, 65536, 1024]>> s, tensor<fp16, [1, 16, 65536, 1024]> x) {
        tensor<fp16, [1, 16, 65536, 1024]> r = read_state(input = s);
        tensor<fp16, [1, 16, 65536, 1024]> w = add(x = r, y = x);
        write_state(data = w, input = s);
    } -> (w);`,
	"list": `tensor<fp16, [1024]> x) {
        list<tensor<fp16, [1024]>, 1000000> l = make_list(init_length = 1000000, dtype = "fp16",
            elem_shape = (1024));
        list<tensor<fp16, [1024]>, 1000000> m = list_write(ls = l, index = 5, value = x);
        tensor<int32, [1000000]> i = range_1d(start = int32(0), end = int32(1000000), step = int32(1));
        tensor<fp16, [1000000, 1024]> y = list_gather(ls = m, indices = i);
        tensor<fp16, [1, 1]> r = reduce_max(x = y, axes = tensor<int32, [2]>([0, 1]), keep_dims = bool(true));
    } -> (r);`,
	"extents of the largest integers beside 0": `tensor<fp16, [0, 2147483647, 2147483647]> x) {
        tensor<fp16, [0, 2147483647, 2147483647]> y = relu(x = x);
        tensor<fp16, [0, 1, 1]> r = reduce_sum(x = y, axes = tensor<int32, [2]>([1, 2]), keep_dims = bool(true));
    } -> (r, y);`,
	"sums of large extents beside 0": `tensor<fp16, [0, 30000, 30000]> x) {
        tensor<fp16, [0, 30000, 30000]> a = relu(x = x);
        tensor<fp16, [0, 1, 1]> y = reduce_sum(x = a, axes = tensor<int32, [2]>([1, 2]), keep_dims = bool(true));
        tensor<int32, [0, 30000]> z = reduce_argmax(x = x, axis = int32(1), keep_dims = bool(false));
        tensor<fp16, [0, 30000, 30000]> s = softmax(x = x, axis = int32(1));
        tensor<fp16, [0, 30000, 30000]> c = cumsum(x = x, axis = int32(2));
        tensor<fp16, [0, 30000, 30000]> m = matmul(x = x, y = x);
    } -> (y, z, s, c, m);`,
	"sums of nothing by large extents": `tensor<fp16, [0, 30000, 3000]> x) {
        tensor<fp16, [30000, 3000]> y = reduce_sum(x = x, axes = tensor<int32, [1]>([0]), keep_dims = bool(false));
    } -> (y);`,
	"dimension over the limit of the engine": `tensor<fp16, [1, 1, 1, 65537]> x) {
        tensor<fp16, [1, 1, 1, 65537]> a = sigmoid(x = x);
        tensor<fp16, [1, 1, 65537, 1]> y = transpose(x = a, perm = tensor<int32, [4]>([0, 1, 3, 2]));
    } -> (y);`,
}
