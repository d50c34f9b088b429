// ArrayWindows: an array of a file from its first element to its last, so many at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/files/file_parts.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/tensors/npy.h"
#include "core/dump/tensors/npz.h"
#include "core/hlo/literal.h"
#include "core/hlo/shape.h"

namespace hloscope::dump {

// What a .npy header says, as XLA calls it.
struct ArrayForm {
  hlo::Shape shape;
  bool is_raw = false;  // bytes of a type of one byte that the file does not name, read as u8
};
// Input error: a type that XLA has not, too many dimensions. `place` is for messages; the array's
// type becomes that of its elements' bytes.
Result<ArrayForm> FormOf(NpyArray& array, std::string_view place, const Limits& limits);

class ArrayWindows {
 public:
  // Of an .npy file, or of a member of an archive. Input error: no array, or not of XLA's.
  static Result<ArrayWindows> Of(const FileParts& file, const Limits& limits = {});
  static Result<ArrayWindows> Of(const NpzArchive& archive, const std::string& name,
                                 const Limits& limits = {});

  const ArrayForm& form() const { return form_; }
  // Whether the elements come in row-major order; else nothing can be read here.
  bool in_order() const { return !array_.fortran_order || form_.shape.dimensions().size() < 2; }
  // Elements that are to come.
  int64_t left() const { return left_; }
  // The next `count` of them, at most left(), as an array of one dimension. Input error: of an
  // archive, with the last ones, where size or CRC of the member are not as declared.
  Result<hlo::Literal> Next(int64_t count);

 private:
  // The bytes that follow those read last; 0: all that are left, which are not given.
  using NextBytes = std::function<Result<std::string>(uint64_t size)>;
  static Result<ArrayWindows> Make(NpyArray array, std::string place, NextBytes next,
                                   const Limits& limits);

  std::string place_;  // for messages
  NpyArray array_;
  ArrayForm form_;
  NextBytes next_;
  int64_t left_ = 0;
};

}  // namespace hloscope::dump
