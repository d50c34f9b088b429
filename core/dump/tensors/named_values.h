// Values in files without a module to say their shapes: what the file itself says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/tensors/array_windows.h"
#include "core/dump/tensors/npz.h"
#include "core/hlo/literal.h"

namespace hloscope::dump {

struct NamedValue {
  std::string name;  // of the archive's member or the file in the folder; of tuples with the index
                     // of the leaf
  hlo::Literal value;
  bool is_raw = false;  // bytes of a type of one byte that the file does not name, read as u8
};

// The arrays of one file or folder, sorted by name, which are read one by one when they are asked
// for: of an .npz archive or a folder no more is in memory.
class ValueSet {
 public:
  // Of an .npy file, an .npz archive or a binary LiteralProto, told by content; nullopt if the file
  // is something else. Input error: a broken one.
  static Result<std::optional<ValueSet>> In(const FileView& file, const Limits& limits = {});
  // Of an .npz archive or an .npy file, told by content; nullopt if the file is something else.
  static Result<std::optional<ValueSet>> InParts(const FileParts& file, const Limits& limits = {});
  // Of the .npy files in a folder; nullopt if it has none.
  static Result<std::optional<ValueSet>> InFolder(const std::string& path,
                                                  const Limits& limits = {});

  size_t size() const { return entries_.size(); }
  const std::string& name(size_t k) const { return entries_[k].name; }
  // Input error: it is broken.
  Result<NamedValue> Read(size_t k) const;
  // The same in windows; nullopt where it is in memory already or in another order than row-major.
  Result<std::optional<ArrayWindows>> Windows(size_t k) const;

 private:
  struct Entry {
    std::string name;
    std::optional<NamedValue> value;  // that was read already, or
    std::string file;                 // an .npy file, of the archive a member
  };
  static Result<std::optional<ValueSet>> ListParts(const FileParts& file, const Limits& limits);
  Result<NamedValue> ReadEntry(const Entry& entry) const;
  void Sort();

  std::vector<Entry> entries_;
  std::optional<NpzArchive> archive_;
  std::optional<FileParts> array_;  // instead: the file of the only entry
  Limits limits_;
};

// All of ValueSet::In.
Result<std::optional<std::vector<NamedValue>>> NamedValuesIn(const FileView& file,
                                                             const Limits& limits = {});

// The element type as which the array can be compared with the other, where that says more: of raw
// bytes any type of one byte, of integers one that numpy does not know. So files that say less than
// others can be compared with them.
hlo::ElementType TypeWith(const ArrayForm& array, const ArrayForm& other);
// The array as one of that type, whose elements have as many bytes (a precondition).
hlo::Literal WithType(hlo::ElementType type, const hlo::Literal& array);
// Both; of tuples and tokens the value as it is.
hlo::Literal WithTypeOf(const NamedValue& value, const NamedValue& other);

}  // namespace hloscope::dump
