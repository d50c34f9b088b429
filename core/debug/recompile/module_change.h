// ModuleChange: what makes two modules of one program two compilations.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/debug/recompile/recompilation.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// What a compilation was given. Options are those that decide code: those of dumping are left out.
struct CompilationFacts {
  std::shared_ptr<const hlo::Module> module;   // before optimisation
  std::map<std::string, std::string> options;  // of the debug options and the front end's
  std::string devices;                         // "0", "0 1 2 3" or empty
  std::string version;                         // "jax 0.10.2" or empty
  std::vector<std::string> parameters;         // their types
  std::map<std::string, int64_t> opcodes;      // how often each occurs
  bool outside_jit = false;                    // an operation of JAX that stands by itself
  std::vector<std::string> lines;              // of the user's program, sorted
  std::set<std::string> operations;            // of the framework, by name
};

// Without options, devices and version, which a dump's files tell.
CompilationFacts FactsOf(std::shared_ptr<const hlo::Module> module);

// Adds "name: value" and "key { … }" lines of a text proto to `options`, but for what dumping asks.
// Device ids go to `devices`.
void AddOptions(std::string_view text, CompilationFacts& facts);

// True where both are compilations of one program: the same lines of source, or where they do not
// tell, mostly the same operations.
bool IsSameProgram(const CompilationFacts& a, const CompilationFacts& b);

// Of graphs of PyTorch/XLA, which all have one name, and of which several may come from one line:
// true where the operations besides arguments and constants are mostly the same, or the one has
// those of the other and the state of an optimizer, or numbers, in addition.
bool IsSameGraph(const CompilationFacts& a, const CompilationFacts& b);

// The same of clusters of TensorFlow, which are numbered over all graphs: the nodes have the same
// names, as those of one function traced twice do and those of one graph never.
bool IsSameCluster(const CompilationFacts& a, const CompilationFacts& b);

// A measure of how much differs, to find the closest of several.
int64_t DistanceOf(const CompilationFacts& a, const CompilationFacts& b);

// The first that differs of: version, arguments, types, shardings, devices, flags, constants,
// anything else.
RecompileCause CauseOf(const CompilationFacts& a, const CompilationFacts& b);

}  // namespace hloscope::debug
