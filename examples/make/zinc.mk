# Rules for Core ML models: $(ZINC_BUILD)/NAME.hwx and .e5 from NAME.mlpackage, NAME.mlmodelc or NAME.mil in the
# folder $(ZINC_MODELS), and `make check`, which holds each model against $(ZINC_BUDGETS).
ZINC         ?= zinc
ZINC_FLAGS   ?=
ZINC_BUDGETS ?= --require-engine
ZINC_MODELS  ?= models
ZINC_BUILD   ?= build

zinc_models := $(wildcard $(addprefix $(ZINC_MODELS)/*.,mlpackage mlmodelc mil))
zinc_pairs  := $(patsubst %,$(ZINC_BUILD)/%.hwx,$(basename $(notdir $(zinc_models))))

# The files of a model; a package is a folder of them.
zinc_files = $(if $(wildcard $1/.),$(shell find $1 -type f),$1)

define zinc_rule
$(ZINC_BUILD)/$(basename $(notdir $1)).hwx: $(call zinc_files,$1)
	@mkdir -p $$(@D)
	$$(ZINC) $1 -o $$@ $$(ZINC_FLAGS)
endef
$(foreach m,$(zinc_models),$(eval $(call zinc_rule,$m)))

.PHONY: zinc-check
zinc-check:
	@set -e; for m in $(zinc_models); do $(ZINC) check "$$m" $(ZINC_FLAGS) $(ZINC_BUDGETS); done
