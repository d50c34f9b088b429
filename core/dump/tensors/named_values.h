// Values in files without a module to say their shapes: what the file itself says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"

namespace hloscope::dump {

struct NamedValue {
  std::string name;  // of the archive's member or the file in the folder; of tuples with the index
                     // of the leaf
  hlo::Literal value;
  bool is_raw = false;  // bytes of a type of one byte that the file does not name, read as u8
};

// The arrays in an .npy file, an .npz archive or a binary LiteralProto, told by content, sorted by
// name; nullopt if the file is something else. Input error: a broken one.
Result<std::optional<std::vector<NamedValue>>> NamedValuesIn(const FileView& file,
                                                             const Limits& limits = {});

// The arrays of the .npy files in a folder, sorted by name; nullopt if it has none.
Result<std::optional<std::vector<NamedValue>>> NamedValuesInFolder(const std::string& path,
                                                                   const Limits& limits = {});

// The value as one of the other's type, where that says more: of raw bytes any type of one byte, of
// integers one that numpy does not know. So files that say less than others can be compared with
// them.
hlo::Literal WithTypeOf(const NamedValue& value, const NamedValue& other);

}  // namespace hloscope::dump
