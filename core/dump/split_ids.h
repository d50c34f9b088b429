// One compilation under two numbers: XLA:TPU writes a module before optimisation under one id and
// after it under a later one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/module.h"

namespace hloscope::dump {

// The arrays that a module takes, in order, tuples taken apart.
struct EntryArrays {
  struct Array {
    std::string type;  // "bf16"
    std::vector<int64_t> dimensions;
    bool operator==(const Array&) const = default;
  };
  std::vector<Array> arrays;
  int64_t partitions = 1;
};

// Of the header of HLO text; empty where it has no entry_computation_layout.
std::optional<EntryArrays> EntryArraysOf(std::string_view text);
EntryArrays EntryArraysOf(const hlo::Module& module);

// Whether a module with the arrays `after` may be what the optimisation of `before` left: the same
// arrays, or parts of them where the program was partitioned.
bool MayBecome(const EntryArrays& before, const EntryArrays& after);

// The modules of one name that a process wrote, by ascending id.
struct NumberedModule {
  int64_t id = -1;
  bool has_begin = false;  // stages before optimisation
  bool has_end = false;    // stages of passes, or after optimisation
  int32_t file = -1;       // of a module
};
struct SplitIds {
  struct Pair {
    size_t begin = 0, end = 0;  // of the modules
  };
  std::vector<Pair> pairs;
  std::vector<size_t> unclear;  // ends to which several beginnings fit
};
// `arrays_of` reads those of a file, an error where it cannot be read.
SplitIds FindSplitIds(std::span<const NumberedModule> modules,
                      const std::function<Result<EntryArrays>(int32_t file)>& arrays_of);

}  // namespace hloscope::dump
