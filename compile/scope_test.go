package compile

import "testing"

func TestScopeOfNamesOfWeights(t *testing.T) {
	for name, want := range map[string]string{
		"encoder_layers_0_self_attn_linear_q_weight_to_fp16": "encoder_layers/0/self_attn_linear_q",
		"encoder_layers_2_bias_to_fp16":                      "encoder_layers/2",
		"model_0_1_conv_weight":                              "model/0/1/conv",
		"model.22.cv2.weight":                                "model/22/cv2",
		"decoder_final_conv_bias_to_fp16":                    "decoder_final_conv",
		"layers_3_norm_gamma_palettized":                     "layers/3/norm",
		"stft_basis":                                         "stft_basis",
		"conv1_weight_to_fp16":                               "conv1",
		// Numbered by the converter.
		"var_93_to_fp16":   "",
		"linear_2_bias_0":  "",
		"bias_3_to_fp16":   "",
		"%fp16.4":          "",
		"op_12_weight":     "",
		"concat_0":         "",
		"reduce_sum_1_to":  "",
		"weight":           "",
		"conv_1_weight_to": "",
	} {
		if got := scopeOf(name); got != want {
			t.Errorf("scopeOf(%q) = %q, want %q", name, got, want)
		}
	}
}
