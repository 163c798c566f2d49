// Package action has the scripts of zinc's GitHub Action (action.yml) and of its pre-commit hook.
//
// review.sh checks a model, compares it with the base branch's and writes the comment; install.sh installs zinc;
// precommit.sh checks the models that files belong to. They run anywhere:
//
//	sh action/review.sh models/model.mlpackage main out --max-slowdown=5%
//
// The package holds no code but its tests, which run the scripts on repositories of their own.
package action
