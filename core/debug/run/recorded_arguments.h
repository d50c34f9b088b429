// RecordedArguments: the values that a snapshot or a bundle has for the parameters of its module.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/bundle_file.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/literal.h"

namespace hloscope::debug {

struct RecordedArguments {
  std::vector<hlo::Literal> arguments;  // one per parameter
  std::optional<hlo::Literal> result;   // recorded beside them
};

// The file is told by its name to hold arrays of numpy, or to be a folder of such; a bundle or a
// snapshot otherwise.
bool HoldsArrays(const std::string& path);

// Those of the first execution in a snapshot. Input error: no snapshot, or without values.
Result<RecordedArguments> ReadSnapshotArguments(const std::string& path, const Limits& limits);

// What --inputs, --expect and --infeed name: arrays of numpy, or that part of a bundle.
Result<dump::TensorFiles> OpenArrays(std::span<const std::string> paths, dump::BundlePart part,
                                     const Limits& limits);
// The dimensions of the arrays that --inputs names, by number, up to the first one that is not
// there.
Result<std::vector<std::optional<std::vector<int64_t>>>> InputDimensions(
    std::span<const std::string> paths, const Limits& limits);
// Where `file` is of a dump and `record --inputs` saved inputs for its module, the file that has
// them: "module_0001.jit_f.inputs.npz" beside it; else empty.
std::string SavedInputsOf(const std::string& file);
// --inputs names a snapshot.
bool NamesSnapshot(std::span<const std::string> paths);

}  // namespace hloscope::debug
