// Values on disk: literals from and to .npy files, .npz archives and directories, by their names
// (docs/replay.md, "Values").
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/tensors/npy.h"
#include "core/dump/tensors/npz.h"
#include "core/dump/tensors/tensor_names.h"
#include "core/hlo/literal.h"

namespace hloscope::dump {

// The array as a literal of `shape` (dense, row-major). Where numpy cannot name the element type
// (bf16, f8…, s4 …) it must be ml_dtypes' type, or integers or raw bytes of the same width, one
// byte per element below eight bits, of which the low bits count. Input error: another type or
// shape. With `owner`, which holds the array's data and nobody else uses, the literal keeps them
// instead of a copy where it can.
Result<hlo::Literal> LiteralFromNpy(const NpyArray& array, const hlo::Shape& shape,
                                    std::string_view name,
                                    const std::shared_ptr<std::string>& owner = nullptr);
// The shape of that literal, with the same errors; of the array no data are looked at.
Result<hlo::Shape> ShapeOfNpy(const NpyArray& array, const hlo::Shape& shape,
                              std::string_view name);
// The .npy file of an array literal, of the numpy type NpyTypeOf its element type.
std::string NpyFromLiteral(const hlo::Literal& whole);
// ml_dtypes' type for floats that numpy does not know; integers below eight bits are int8 or uint8.
NpyType NpyTypeOf(hlo::ElementType type);

// A set of numbered arrays somewhere: .npz archives, .npy files in order, directories with
// input_N.npy and output_N.npy. The arrays of an archive in which none has a name that numbers it
// are numbered as they come in the file.
class TensorFiles {
 public:
  // `paths` as given on the command line: each an .npz, a directory, or an .npy; several .npy are
  // numbered in the order given. Files without the ending .npy are told apart by content.
  // Input errors: of a file of anything else, and as FileView::Open.
  static Result<TensorFiles> Open(std::span<const std::string> paths, const Limits& limits = {});

  // The arrays of one archive that is open.
  static TensorFiles Of(NpzArchive archive, const Limits& limits = {});

  // From now on Input and Output give literals without bytes, after the same checks.
  void ReadHeadersOnly() { headers_only_ = true; }

  // Arrays that are numbered as they come are numbered as `names` instead, and the rest behind
  // them, where each of the names, which differ from each other, is that of one: then nothing is
  // said of their order any more. False: one is missing, and the order stays.
  bool NumberBy(std::span<const std::string> names);

  // What is said of archives whose arrays are numbered as they come.
  const std::vector<std::string>& notes() const { return notes_; }

  // How many .npy files were given, which are numbered in that order.
  int64_t file_count() const { return std::ssize(files_); }

  // Array number i of inputs; leaf `leaf` of results, which is their array number `array` (tokens
  // are leaves): by its names (tensor_names.h), else by its place. nullopt: there is none. Input
  // errors as LiteralFromNpy.
  // With `accepts`, dimensions other than the shape's that it says yes to are taken too; then the
  // literal has those.
  using DimensionTest = std::function<bool(std::span<const int64_t>)>;
  Result<std::optional<hlo::Literal>> Input(int64_t i, const hlo::Shape& shape,
                                            const DimensionTest& accepts = {}) const;
  Result<std::optional<hlo::Literal>> Output(int64_t leaf, int64_t array, const hlo::Shape& shape,
                                             const DimensionTest& accepts = {}) const;
  // The dimensions of input number i alone, whatever its type.
  Result<std::optional<std::vector<int64_t>>> InputDimensions(int64_t i) const;
  // As Input, for one device alone: in0@2, input_0@2 or arr_0@2.
  Result<std::optional<hlo::Literal>> InputOf(int64_t device, int64_t i,
                                              const hlo::Shape& shape) const;
  // Such a name that no InputOf with an array below `arrays` and, of several, a device below
  // `devices` asks for.
  std::optional<std::string> UnusedDeviceInput(int64_t arrays, int64_t devices) const;

  // What a reader of so many inputs (arrays) or results (leaves, of which `arrays` are arrays) of
  // so many devices leaves: a line per file that names its arrays. Arrays named as those of the
  // other side are left out.
  struct Taken {
    TensorNames side = TensorNames::kInputs;
    int64_t leaves = 0, arrays = 0, devices = 1;
  };
  std::vector<std::string> Unused(const Taken& taken) const;
  // For an error where an array is missing: "F.npz has x, y and 3 more"; empty: no file is given.
  std::string Contents() const;

 private:
  struct Wanted {
    const hlo::Shape& shape;
    const DimensionTest& accepts;
  };
  // A member of an archive, or a file.
  struct Source {
    const NpzArchive* archive;
    std::string name;
  };
  std::optional<Source> Locate(std::span<const std::string> names, int64_t file_index) const;
  static std::string PlaceOf(const Source& source);
  Result<NpyArray> Header(const Source& source) const;
  Result<std::optional<hlo::Literal>> Find(std::span<const std::string> names, int64_t file_index,
                                           const Wanted& wanted) const;

  void NumberAsTheyCome(size_t archive);

  std::vector<NpzArchive> archives_;
  std::vector<std::pair<size_t, std::string>> as_they_come_;  // archive and member, by number
  std::vector<std::string> notes_;
  std::vector<std::string> directories_;
  std::vector<std::string> files_;
  Limits limits_;
  bool headers_only_ = false;
};

// Writes the flattened leaves of `values` as in0, in1 … or out0 … of an .npz (path ends in .npz),
// or as input_0.npy … in a directory, which is made. Tokens are left out but counted.
Status WriteTensors(const std::string& path, TensorNames names,
                    std::span<const hlo::Literal> values);
// The same for inputs under names of their own, "in0@2" for one.
Status WriteInputs(const std::string& path,
                   std::span<const std::pair<std::string, hlo::Literal>> values);

// The bytes of the archive that WriteInputs would write of these values, whose bytes are not looked
// at.
int64_t BytesOfInputs(std::span<const std::pair<std::string, hlo::Literal>> values);

// The array and token leaves of a literal, tuples taken apart, in order.
std::vector<hlo::Literal> FlattenLiteral(const hlo::Literal& literal);

}  // namespace hloscope::dump
