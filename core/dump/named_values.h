// Values in files without a module to say their shapes: what the file itself says.
#pragma once

#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"

namespace hloscope::dump {

struct NamedValue {
  std::string name;  // of the archive's member or the file in the folder; of tuples with the index
                     // of the leaf
  hlo::Literal value;
};

// True if `path` is what ReadNamedValues takes rather than a module: .npy, .npz or a folder with
// .npy files by content, or a literal proto by content and extension.
bool HoldsValues(const std::string& path, const Limits& limits = {});

// The arrays in an .npy file, an .npz archive, a folder of .npy files or a binary LiteralProto,
// sorted by name. Input error: another kind of file, or a broken one.
Result<std::vector<NamedValue>> ReadNamedValues(const std::string& path, const Limits& limits = {});

}  // namespace hloscope::dump
