package mlmodel

// The messages of coremltools' mlmodel/format that are read: field numbers,
// names and wire types.
var (
	modelSchema = schema{
		{1, "specificationVersion", varint},
		{2, "description", bytes_},
		{programField, ProgramForm, bytes_},
	}
	descriptionSchema = schema{
		{1, "input", bytes_},
		{10, "output", bytes_},
		{11, "predictedFeatureName", bytes_},
		{12, "predictedProbabilitiesName", bytes_},
		{13, "state", bytes_},
		{20, "functions", bytes_},
		{21, "defaultFunctionName", bytes_},
		{100, "metadata", bytes_},
	}
	functionDescriptionSchema = schema{
		{1, "name", bytes_},
		{2, "input", bytes_},
		{3, "output", bytes_},
		{4, "predictedFeatureName", bytes_},
		{5, "predictedProbabilitiesName", bytes_},
		{6, "state", bytes_},
	}
	metadataSchema = schema{
		{1, "shortDescription", bytes_},
		{2, "versionString", bytes_},
		{3, "author", bytes_},
		{4, "license", bytes_},
		{100, "userDefined", bytes_},
	}
	featureSchema = schema{
		{1, "name", bytes_},
		{2, "shortDescription", bytes_},
		{3, "type", bytes_},
	}
	featureTypeSchema = schema{
		{1, "int64", bytes_},
		{2, "double", bytes_},
		{3, "string", bytes_},
		{4, "image", bytes_},
		{5, "multiArray", bytes_},
		{6, "dictionary", bytes_},
		{7, "sequence", bytes_},
		{8, "state", bytes_},
		{1000, "isOptional", varint},
	}
	imageSchema = schema{
		{1, "width", varint},
		{2, "height", varint},
		{3, "colorSpace", varint},
		{21, "enumeratedSizes", bytes_},
		{31, "imageSizeRange", bytes_},
	}
	imageSizesSchema = schema{{1, "sizes", bytes_}}
	imageSizeSchema  = schema{{1, "width", varint}, {2, "height", varint}}
	imageRangeSchema = schema{{1, "widthRange", bytes_}, {2, "heightRange", bytes_}}
	sizeRangeSchema  = schema{{1, "lowerBound", varint}, {2, "upperBound", varint}}
	arraySchema      = schema{
		{1, "shape", varints},
		{2, "dataType", varint},
		{21, "enumeratedShapes", bytes_},
		{31, "shapeRange", bytes_},
		{41, "intDefaultValue", varint},
		{51, "floatDefaultValue", bits32},
		{61, "doubleDefaultValue", bits64},
	}
	shapesSchema     = schema{{1, "shapes", bytes_}}
	shapeSchema      = schema{{1, "shape", varints}}
	shapeRangeSchema = schema{{1, "sizeRanges", bytes_}}
	dictionarySchema = schema{{1, "int64", bytes_}, {2, "string", bytes_}}
	sequenceSchema   = schema{{1, "int64", bytes_}, {3, "string", bytes_}}
	stateSchema      = schema{{1, "arrayType", bytes_}}

	entrySchema   = schema{{1, "key", bytes_}, {2, "value", bytes_}}
	programSchema = schema{
		{1, "version", varint},
		{2, "functions", bytes_},
		{4, "attributes", bytes_},
	}
	functionSchema = schema{
		{1, "inputs", bytes_},
		{2, "opset", bytes_},
		{3, "block_specializations", bytes_},
		{4, "attributes", bytes_},
	}
	blockSchema = schema{
		{1, "inputs", bytes_},
		{2, "outputs", bytes_},
		{3, "operations", bytes_},
	}
	operationSchema = schema{
		{1, "type", bytes_},
		{2, "inputs", bytes_},
		{3, "outputs", bytes_},
		{4, "blocks", bytes_},
		{5, "attributes", bytes_},
	}
	argumentSchema  = schema{{1, "arguments", bytes_}}
	bindingSchema   = schema{{1, "name", bytes_}, {2, "value", bytes_}}
	namedTypeSchema = schema{{1, "name", bytes_}, {2, "type", bytes_}}
	valueTypeSchema = schema{
		{1, "tensorType", bytes_},
		{2, "listType", bytes_},
		{3, "tupleType", bytes_},
		{4, "dictionaryType", bytes_},
		{5, "stateType", bytes_},
	}
	tensorTypeSchema = schema{{1, "dataType", varint}, {2, "rank", varint}, {3, "dimensions", bytes_}}
	listTypeSchema   = schema{{1, "type", bytes_}, {2, "length", bytes_}}
	tupleTypeSchema  = schema{{1, "types", bytes_}}
	dictTypeSchema   = schema{{1, "keyType", bytes_}, {2, "valueType", bytes_}}
	stateTypeSchema  = schema{{1, "wrappedType", bytes_}}
	dimensionSchema  = schema{{1, "constant", bytes_}, {2, "unknown", bytes_}}
	constantSchema   = schema{{1, "size", varint}}
	unknownSchema    = schema{{1, "variadic", varint}}
	valueSchema      = schema{{2, "type", bytes_}, {3, "immediateValue", bytes_}, {5, "blobFileValue", bytes_}}
	immediateSchema  = schema{
		{1, "tensor", bytes_},
		{2, "tuple", bytes_},
		{3, "list", bytes_},
		{4, "dictionary", bytes_},
	}
	blobFileSchema = schema{{1, "fileName", bytes_}, {2, "offset", varint}}
	tensorSchema   = schema{
		{1, "floats", bytes_}, {2, "ints", bytes_}, {3, "bools", bytes_}, {4, "strings", bytes_},
		{5, "longInts", bytes_}, {6, "doubles", bytes_}, {7, "bytes", bytes_},
	}
	floatsSchema  = schema{{1, "values", many32}}
	doublesSchema = schema{{1, "values", many64}}
	intsSchema    = schema{{1, "values", varints}} // of RepeatedInts, RepeatedLongInts and RepeatedBools
	// of RepeatedStrings, RepeatedBytes, TupleValue, ListValue and DictionaryValue
	valuesSchema = schema{{1, "values", bytes_}}
	pairSchema   = schema{{1, "key", bytes_}, {2, "value", bytes_}}
)

// modelForms are the fields of Model.Type: the forms of models.
var modelForms = map[int32]string{
	200: "pipelineClassifier", 201: "pipelineRegressor", 202: PipelineForm,
	300: "glmRegressor", 301: "supportVectorRegressor", 302: "treeEnsembleRegressor", 303: "neuralNetworkRegressor",
	304: "bayesianProbitRegressor",
	400: "glmClassifier", 401: "supportVectorClassifier", 402: "treeEnsembleClassifier", 403: "neuralNetworkClassifier",
	404: "kNearestNeighborsClassifier",
	500: "neuralNetwork", 501: "itemSimilarityRecommender", 502: ProgramForm,
	555: "customModel", 556: "linkedModel", 560: "classConfidenceThresholding",
	600: "oneHotEncoder", 601: "imputer", 602: "featureVectorizer", 603: "dictVectorizer", 604: "scaler",
	606: "categoricalMapping",
	607: "normalizer", 609: "arrayFeatureExtractor", 610: "nonMaximumSuppression",
	900:  "identity",
	2000: "textClassifier", 2001: "wordTagger", 2002: "visionFeaturePrint", 2003: "soundAnalysisPreprocessing",
	2004: "gazetteer",
	2005: "wordEmbedding", 2006: "audioFeaturePrint",
	3000: "serializedModel",
}

// Fields of Model: an ML program, and pipelines of models.
const (
	pipelineClassifierField = 200
	pipelineRegressorField  = 201
	pipelineField           = 202
	programField            = 502
)

// ProgramForm is the form of a model that is an ML program, and PipelineForm of a pipeline without a class.
const (
	ProgramForm  = "mlProgram"
	PipelineForm = "pipeline"
)

// opsets maps the names of operation sets in specifications to those in MIL
// text.
var opsets = map[string]string{
	"CoreML5": "ios15", "CoreML6": "ios16", "CoreML7": "ios17", "CoreML8": "ios18", "CoreML9": "ios26",
}

// dataTypes maps MILSpec.DataType to the names of element types in MIL text.
var dataTypes = map[uint64]string{
	1: "bool", 2: "string",
	10: "fp16", 11: "fp32", 12: "fp64", 13: "bf16",
	21: "int8", 22: "int16", 23: "int32", 24: "int64", 25: "int4",
	31: "uint8", 32: "uint16", 33: "uint32", 34: "uint64", 35: "uint4", 36: "uint2", 37: "uint1", 38: "uint6",
	39: "uint3",
	40: "fp8e4m3fn", 41: "fp8e5m2",
}

// arrayTypes maps ArrayFeatureType.ArrayDataType to names of element types.
var arrayTypes = map[uint64]string{
	65568: "fp32", 65600: "fp64", 65552: "fp16", 131104: "int32", 131080: "int8",
}

// colourSpaces maps ImageFeatureType.ColorSpace to their names.
var colourSpaces = map[uint64]string{
	10: "GRAYSCALE", 20: "RGB", 30: "BGR", 40: "GRAYSCALE_FLOAT16",
}

// channels is their number in the tensor that an image becomes.
var channels = map[string]int64{"GRAYSCALE": 1, "GRAYSCALE_FLOAT16": 1, "RGB": 3, "BGR": 3}
