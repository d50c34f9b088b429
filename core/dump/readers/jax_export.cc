// The fields of jax.export's FlatBuffer, by the numbers of its schema.
#include "core/dump/readers/jax_export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/base/counted.h"
#include "core/base/limits.h"
#include "core/dump/readers/flat_table.h"

namespace hloscope::dump {
namespace {

using hlo::ElementType;

// Fields of the table Exported that are read.
enum ExportedField : uint32_t {
  kFunctionName = 1,
  kInAvals = 3,
  kOutAvals = 5,
  kDevicesShort = 6,  // until Nov 2025
  kPlatforms = 9,
  kOrderedEffects = 10,
  kModule = 13,
  kCallingConvention = 14,
  kKeptVariables = 15,
  kVjp = 17,
  kDevices = 18,
  kUniqueAvals = 19,  // and indices into them: since Apr 2026
  kInAvalIndices = 22,
  kOutAvalIndices = 23,
  kJaxVersion = 26,  // since July 2026
};
// Fields of the table AbstractValue.
enum AbstractValueField : uint32_t { kShape = 1, kDtype = 2 };

// A value of the enum DType: keys of random numbers are arrays of words.
struct DtypeRow {
  ElementType type;
  std::string_view last_dimension;
};
constexpr std::array<DtypeRow, 30> kDtypes = {{
    {ElementType::kPred, ""},      {ElementType::kS8, ""},
    {ElementType::kS16, ""},       {ElementType::kS32, ""},
    {ElementType::kS64, ""},       {ElementType::kU8, ""},
    {ElementType::kU16, ""},       {ElementType::kU32, ""},
    {ElementType::kU64, ""},       {ElementType::kF16, ""},
    {ElementType::kF32, ""},       {ElementType::kF64, ""},
    {ElementType::kC64, ""},       {ElementType::kC128, ""},
    {ElementType::kBF16, ""},      {ElementType::kS4, ""},
    {ElementType::kU4, ""},        {ElementType::kF8E4M3B11FNUZ, ""},
    {ElementType::kF8E4M3FN, ""},  {ElementType::kF8E4M3FNUZ, ""},
    {ElementType::kF8E5M2, ""},    {ElementType::kF8E5M2FNUZ, ""},
    {ElementType::kPred, ""},  // float0, the type of gradients of integers: no values
    {ElementType::kF8E4M3, ""},    {ElementType::kF8E3M4, ""},
    {ElementType::kF8E8M0FNU, ""}, {ElementType::kF4E2M1FN, ""},
    {ElementType::kU32, "2"},  // key<fry>
    {ElementType::kU32, "4"},  // key<rbg>
    {ElementType::kU32, "4"},  // key<urbg>
}};

constexpr std::string_view kMlirMark = "ML\xefR";

std::unexpected<Error> Damaged(std::string_view what) {
  return InputError(fmt::format("this file of jax.export is damaged or cut off: {}", what),
                    "write it again: `jax.export.export(…)(…).serialize()`");
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes), budget_(bytes.size()) {}

  Result<JaxExport> Read() {
    const auto root = FlatTable::Root(bytes_);
    if (!root) return Damaged("it has no table");
    const FlatTable& table = *root;
    const auto function = table.Bytes(kFunctionName), module = table.Bytes(kModule);
    const auto version = table.Bytes(kJaxVersion);
    if (!function || !module || !version) return Damaged("its function or module");
    if (!module->starts_with(kMlirMark)) return Damaged("its module is not MLIR bytecode");
    out_.function = *function;
    out_.module = *module;
    out_.jax_version = *version;
    constexpr size_t kMaxPlatforms = 64;
    const auto platforms = table.Strings(kPlatforms, kMaxPlatforms);
    if (!platforms || platforms->empty()) return Damaged("its platforms");
    out_.platforms = *platforms;
    const auto devices = table.Number<uint32_t>(kDevices);
    const auto few_devices = table.Number<int16_t>(kDevicesShort);
    const auto convention = table.Number<uint16_t>(kCallingConvention);
    const auto effects = table.Bytes(kOrderedEffects, sizeof(uint32_t));
    if (!devices || !few_devices || !convention || !effects) return Damaged("its numbers");
    out_.devices =
        std::max<uint32_t>(*devices, static_cast<uint32_t>(std::max<int>(*few_devices, 0)));
    if (out_.devices < 1 || out_.devices > limits_.devices) {
      return InputError(fmt::format("it was exported for {}, expected 1 to {}",
                                    Counted(out_.devices, "device"), limits_.devices));
    }
    out_.calling_convention = *convention;
    out_.ordered_effects = effects->size() / sizeof(uint32_t);
    HLOSCOPE_TRY(ReadArrays(table));
    HLOSCOPE_TRY(ReadKept(table));
    CountVjps(table);
    return std::move(out_);
  }

 private:
  Status ReadArrays(const FlatTable& table) {
    const auto in = table.Numbers<uint32_t>(kInAvalIndices);
    const auto out = table.Numbers<uint32_t>(kOutAvalIndices);
    if (!in || !out) return Damaged("its list of arguments");
    if (!in->empty() || !out->empty()) {
      HLOSCOPE_TRY(AppendArrays(table, kUniqueAvals));
      out_.arguments = *in;
      out_.results = *out;
    } else {
      HLOSCOPE_ASSIGN_OR_RETURN(out_.arguments, AppendArrays(table, kInAvals));
      HLOSCOPE_ASSIGN_OR_RETURN(out_.results, AppendArrays(table, kOutAvals));
    }
    for (const auto* list : {&out_.arguments, &out_.results}) {
      const bool there =
          std::ranges::all_of(*list, [&](uint32_t i) { return i < out_.arrays.size(); });
      if (!there) return Damaged("an argument or result that is not there");
    }
    return {};
  }

  // Appends the arrays of a field and gives their indices.
  Result<std::vector<uint32_t>> AppendArrays(const FlatTable& table, uint32_t field) {
    const auto values = table.Tables(field, static_cast<uint64_t>(limits_.operands));
    if (!values) return Damaged("its arguments or results");
    std::vector<uint32_t> indices;
    for (const FlatTable& value : *values) {
      HLOSCOPE_ASSIGN_OR_RETURN(ExportedArray array, ReadArray(value));
      indices.push_back(static_cast<uint32_t>(out_.arrays.size()));
      out_.arrays.push_back(std::move(array));
    }
    return indices;
  }

  Result<ExportedArray> ReadArray(const FlatTable& value) {
    const auto dtype = value.Number<int8_t>(kDtype);
    const auto shape = value.Strings(kShape, static_cast<uint64_t>(limits_.rank));
    if (!dtype || !shape) return Damaged("the shape of an argument or result");
    const auto row = static_cast<size_t>(*dtype);
    if (*dtype < 0 || row >= kDtypes.size()) {
      return InputError(fmt::format("its element type {} is not known", int{*dtype}),
                        "a newer jax wrote it");
    }
    // No dimension of a sound file is where another one is.
    for (const std::string_view dimension : *shape) {
      const uint64_t taken = sizeof(uint32_t) + dimension.size();
      if (taken > budget_) return Damaged("the shapes of its arguments");
      budget_ -= taken;
    }
    ExportedArray array{kDtypes[row].type, *shape};
    if (!kDtypes[row].last_dimension.empty())
      array.dimensions.push_back(kDtypes[row].last_dimension);
    return array;
  }

  Status ReadKept(const FlatTable& table) {
    const auto kept = table.Numbers<uint16_t>(kKeptVariables);
    if (!kept) return Damaged("the arguments of its module");
    out_.kept.assign(kept->begin(), kept->end());
    const bool sorted =
        std::ranges::adjacent_find(out_.kept, std::greater_equal<>()) == out_.kept.end();
    if (!sorted || (!out_.kept.empty() && out_.kept.back() >= out_.arguments.size())) {
      return Damaged("the arguments of its module");
    }
    return {};
  }

  void CountVjps(FlatTable table) {
    constexpr size_t kMax = 100;
    while (out_.vjp_order < kMax && table.Has(kVjp)) {
      const auto next = table.Table(kVjp);
      if (!next) return;
      table = *next;
      ++out_.vjp_order;
    }
  }

  const Limits limits_;
  std::string_view bytes_;
  uint64_t budget_;  // bytes of dimensions that may still be read
  JaxExport out_;
};

}  // namespace

bool JaxExport::is_symbolic() const {
  return std::ranges::any_of(arguments, [&](uint32_t i) {
    return std::ranges::any_of(arrays[i].dimensions, [](std::string_view dimension) {
      return dimension.find_first_not_of("0123456789") != std::string_view::npos;
    });
  });
}

bool LooksLikeJaxExport(std::string_view bytes) {
  const auto root = FlatTable::Root(bytes);
  return root && root->Has(kFunctionName) && root->Has(kPlatforms) &&
         root->VectorBegins(kModule, kMlirMark);
}

Result<JaxExport> ReadJaxExport(std::string_view bytes) { return Reader(bytes).Read(); }

std::string ToString(const ExportedArray& array) {
  return fmt::format("{}[{}]", hlo::ToString(array.type), fmt::join(array.dimensions, ","));
}

}  // namespace hloscope::dump
