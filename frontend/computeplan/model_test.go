package computeplan

import (
	"strings"
	"testing"
)

// TestAnalyticsHaveTheModel takes the model's program from the analytics' text.
func TestAnalyticsHaveTheModel(t *testing.T) {
	const text = `program(1.3)
{
    func main<ios17>(tensor_buffer<fp16, shape=[1, 4], strides=[4, 1]> x) [Launch_ane_ms = fp64(0.125)] {
            tensor<fp16, [1, 4]> x_4D454D5F4F5054 = tensor_buffer_to_tensor<ios17>(input = x)[milId = uint64(0)];
            tensor<fp16, [1, 4]> r = ios17.relu(x = x_4D454D5F4F5054)[milId = uint64(1), name = string("r")];
            tensor<fp16, [1, 8]> y_4D454D5F4F5054 = concat(values = (r, x_4D454D5F4F5054), axis = int32(1))` +
		`[SelectedBackend = string("ane")];
            tensor_buffer<fp16, shape=[1, 8], strides=[8, 1]> out = tensor_to_tensor_buffer(input = y_4D454D5F4F5054);
        } -> (out);
}
`
	const want = `program(1.3)
{
    func main<ios17>(tensor<fp16, [1, 4]> x) {
            tensor<fp16, [1, 4]> r = relu<ios17>(x = x)[name = string("r")];
            tensor<fp16, [1, 8]> y = concat(values = (r, x), axis = int32(1));
        } -> (y);
}
`
	if !IsAnalytics([]byte(text)) {
		t.Error("not recognised")
	}
	got, err := ModelText("analytics.mil", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("model is\n%s\nwant\n%s", got, want)
	}
	if _, err := ModelText("analytics.mil", []byte(strings.Replace(text, "relu(", "relu", 1))); err == nil {
		t.Error("a wrong text has a model")
	}
}
