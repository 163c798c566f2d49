package metadata

import "testing"

// FuzzParseJSON reads any metadata.json: it is a model or an error.
func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		`[{"modelType": {"name": "MLModelType_mlProgram"}, "specificationVersion": 8, "author": "a",
			"userDefinedMetadata": {"k": "v"}, "inputSchema": [{"name": "x", "type": "MultiArray",
			"dataType": "Float16", "shape": "[1, 2]", "hasShapeFlexibility": "1", "shapeRange": "[[1, 2], [1, -1]]"}],
			"outputSchema": [{"name": "y", "type": "MultiArray", "dataType": "Int32", "shape": "[]"}]}]`,
		`[{"functions": [{"name": "main", "inputSchema": [], "outputSchema": null}], "specificationVersion": 1e99}]`,
		`[{}]`, `[]`, `[null]`, `{}`, ``,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseJSON("metadata.json", data)
		if err == nil && (m == nil || m.Source != "metadata.json") {
			t.Errorf("%q gives %+v", data, m)
		}
	})
}
