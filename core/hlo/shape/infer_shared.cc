// What the shape rules share: reading attributes, checking lists of dimensions, comparing shapes.
#include <algorithm>
#include <tuple>

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace hloscope::hlo {
namespace {

constexpr size_t kShownBytes = 200;  // of one shape in a message
constexpr size_t kShownNumbers = 16;

// Range, significand width and bits of a type, in the order of importance.
std::tuple<bool, int, int, int, bool> PrecisionRank(ElementType type) {
  using enum ElementType;
  ElementType part = RealPart(type);
  auto [range, digits] = [part]() -> std::pair<int, int> {
    switch (part) {
      case kF64:
        return {1024, 53};
      case kF32:
        return {128, 24};
      case kBF16:
        return {128, 8};
      case kF8E8M0FNU:
        return {128, 1};
      case kF16:
        return {16, 11};
      case kF8E5M2:
      case kF8E5M2FNUZ:
        return {16, 3};
      case kF8E4M3FN:
        return {9, 4};
      case kF8E4M3:
      case kF8E4M3FNUZ:
        return {8, 4};
      case kF8E4M3B11FNUZ:
        return {5, 4};
      case kF6E3M2FN:
        return {5, 3};
      case kF8E3M4:
        return {4, 5};
      case kF6E2M3FN:
        return {3, 4};
      case kF4E2M1FN:
        return {3, 2};
      default:
        return {-1, -1};
    }
  }();
  return {IsComplex(type), range, digits, BitWidth(part), IsSigned(part)};
}

// The number of shapes inside a tuple, on every level; 1 for anything else.
size_t TupleElementCount(const Shape& shape) {
  if (!shape.IsTuple()) return 1;
  size_t count = 0;
  std::vector<const Shape*> open = {&shape};
  while (!open.empty()) {
    const Shape* next = open.back();
    open.pop_back();
    ++count;
    for (const Shape& element : next->elements()) open.push_back(&element);
  }
  return count;
}

std::string_view Name(AttributeKey key) { return Info(key).text; }

}  // namespace

std::unexpected<Error> Fail(const InferenceInput& input, std::string message) {
  return InputError(fmt::format("{} {}", ToString(input.opcode), message));
}

std::string Text(const Shape& shape) {
  std::string text = ToString(shape, false);
  if (text.size() > kShownBytes) {
    text.resize(kShownBytes);
    text += "…";
  }
  return text;
}

std::string Text(std::span<const int64_t> list) {
  std::span<const int64_t> shown = list.first(std::min(list.size(), kShownNumbers));
  return fmt::format("{{{}{}}}", fmt::join(shown, ","), shown.size() < list.size() ? ",…" : "");
}

const Attribute* FindAttribute(const InferenceInput& input, AttributeKey key) {
  for (const Attribute& a : input.attributes) {
    if (a.key == key) return &a;
  }
  return nullptr;
}

int64_t IntOr(const InferenceInput& input, AttributeKey key, int64_t absent) {
  const Attribute* a = FindAttribute(input, key);
  return a == nullptr ? absent : input.module.IntOf(*a);
}

bool BoolOr(const InferenceInput& input, AttributeKey key, bool absent) {
  const Attribute* a = FindAttribute(input, key);
  return a == nullptr ? absent : a->value != 0;
}

std::span<const int64_t> IntsOr(const InferenceInput& input, AttributeKey key) {
  const Attribute* a = FindAttribute(input, key);
  return a == nullptr ? std::span<const int64_t>() : input.module.IntsOf(*a);
}

Result<int64_t> NeedInt(const InferenceInput& input, AttributeKey key) {
  const Attribute* a = FindAttribute(input, key);
  if (a == nullptr) return Fail(input, fmt::format("needs the attribute {}=", Name(key)));
  return input.module.IntOf(*a);
}

Result<std::span<const int64_t>> NeedInts(const InferenceInput& input, AttributeKey key) {
  const Attribute* a = FindAttribute(input, key);
  if (a == nullptr) return Fail(input, fmt::format("needs the attribute {}=", Name(key)));
  return input.module.IntsOf(*a);
}

Result<size_t> NeedDimension(const InferenceInput& input, AttributeKey key, size_t rank) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto list, NeedInts(input, key));
  if (list.size() != 1) {
    return Fail(input, fmt::format("{}={} has {}, expected 1", Name(key), Text(list),
                                   Counted(list.size(), "dimension")));
  }
  HLOSCOPE_TRY(CheckInRange(input, key, list, rank));
  return static_cast<size_t>(list[0]);
}

Result<const Shape*> NeedDeclared(const InferenceInput& input) {
  if (input.declared != nullptr) return input.declared;
  return Fail(input, "has a shape that cannot be inferred: write it before the opcode");
}

Result<const ProgramShape*> NeedProgram(const InferenceInput& input, AttributeKey key) {
  const Attribute* a = FindAttribute(input, key);
  if (a == nullptr) return Fail(input, fmt::format("needs the attribute {}=", Name(key)));
  return NeedProgram(input, ComputationId(a->value));
}

Result<const ProgramShape*> NeedProgram(const InferenceInput& input, ComputationId id) {
  return input.programs->Find(input.module, id);
}

Status CheckCount(const InferenceInput& input, size_t expected) {
  if (input.operands.size() == expected) return {};
  return Fail(input, fmt::format("has {}, expected {}", Counted(input.operands.size(), "operand"),
                                 expected));
}

Status CheckArray(const InferenceInput& input, size_t operand) {
  if (input.operands[operand]->IsArray()) return {};
  return Fail(input, fmt::format("has operand {} of shape {}, expected an array", operand,
                                 Text(*input.operands[operand])));
}

Status CheckArrays(const InferenceInput& input) {
  for (size_t i = 0; i < input.operands.size(); ++i) HLOSCOPE_TRY(CheckArray(input, i));
  return {};
}

Status CheckInRange(const InferenceInput& input, AttributeKey key, std::span<const int64_t> list,
                    size_t rank) {
  for (int64_t dimension : list) {
    if (dimension >= 0 && std::cmp_less(dimension, rank)) continue;
    return Fail(input, fmt::format("has {}={} with {} out of range for rank {}", Name(key),
                                   Text(list), dimension, rank));
  }
  return {};
}

Status CheckUnique(const InferenceInput& input, AttributeKey key, std::span<const int64_t> list) {
  std::vector<int64_t> sorted(list.begin(), list.end());
  std::ranges::sort(sorted);
  auto repeated = std::ranges::adjacent_find(sorted);
  if (repeated == sorted.end()) return {};
  return Fail(input,
              fmt::format("has {}={} with {} more than once", Name(key), Text(list), *repeated));
}

Status CheckAscending(const InferenceInput& input, AttributeKey key, std::span<const int64_t> list,
                      size_t rank) {
  HLOSCOPE_TRY(CheckInRange(input, key, list, rank));
  for (size_t i = 1; i < list.size(); ++i) {
    if (list[i - 1] < list[i]) continue;
    return Fail(input, fmt::format("has {}={}, expected ascending dimensions without repetition",
                                   Name(key), Text(list)));
  }
  return {};
}

bool Contains(std::span<const int64_t> list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

namespace {

// Result scalars of a reducer: n of them, as an array (n is 1) or in a tuple.
Result<std::span<const Shape>> ReducerResults(const InferenceInput& input, const Shape& result,
                                              size_t n) {
  const std::span<const Shape> results = result.results();
  if (results.size() != n) {
    return Fail(input, fmt::format("has a computation with result {}, expected {}", Text(result),
                                   Counted(n, "scalar", "scalars in a tuple")));
  }
  for (const Shape& shape : results) {
    if (shape.IsScalar()) continue;
    return Fail(input,
                fmt::format("has a computation with result {}, expected scalars", Text(result)));
  }
  return results;
}

}  // namespace

Status CheckReducer(const InferenceInput& input, const ProgramShape& reducer,
                    std::span<const ElementType> elements, std::span<const Shape> init_values) {
  size_t n = elements.size();
  if (reducer.parameters.size() != 2 * n) {
    return Fail(input, fmt::format("has a computation of {}, expected {}",
                                   Counted(reducer.parameters.size(), "parameter"), 2 * n));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(std::span<const Shape> results,
                            ReducerResults(input, input.module[reducer.result], n));
  for (size_t i = 0; i < n; ++i) {
    const Shape& accumulator = input.module[reducer.parameters[i]];
    const Shape& argument = input.module[reducer.parameters[n + i]];
    if (!CompatibleShapes(results[i], accumulator)) {
      return Fail(input, fmt::format("has a computation with parameter {} of shape {}, result {}",
                                     i, Text(accumulator), Text(results[i])));
    }
    if (!CompatibleIgnoringPrecision(results[i], init_values[i])) {
      return Fail(input, fmt::format("has a computation with result {}, initial value {}",
                                     Text(results[i]), Text(init_values[i])));
    }
    if (!CompatibleIgnoringPrecision(Shape::Scalar(elements[i]), argument)) {
      return Fail(input, fmt::format("has a computation with parameter {} of shape {}, elements {}",
                                     n + i, Text(argument), ToString(elements[i])));
    }
    if (!CompatibleIgnoringPrecision(results[i], argument)) {
      return Fail(input, fmt::format("has a computation with parameter {} of shape {}, result {}",
                                     n + i, Text(argument), Text(results[i])));
    }
  }
  return {};
}

bool CompatibleShapes(const Shape& a, const Shape& b) {
  return Compatible(a, b, {.dynamic_dimensions = false});
}

bool CompatibleIgnoringPrecision(const Shape& a, const Shape& b) {
  return Compatible(a, b, {.float_precision = false, .dynamic_dimensions = false});
}

bool SameDimensions(const Shape& a, const Shape& b) {
  return Compatible(a, b, {.element_types = false, .dynamic_dimensions = false});
}

bool SameTypeIgnoringPrecision(ElementType a, ElementType b) {
  return a == b || (IsFloat(a) && IsFloat(b));
}

bool SizesAgree(int64_t a, int64_t b) { return a == b || IsUnbounded(a) || IsUnbounded(b); }

ElementType HigherPrecision(ElementType a, ElementType b) {
  return PrecisionRank(b) > PrecisionRank(a) ? b : a;
}

Shape WithElementType(const Shape& shape, ElementType type) {
  Shape result = shape;
  result.set_element_type(type);
  return result;
}

void SetDimension(Shape& shape, size_t dimension, int64_t size, bool dynamic) {
  shape.set_dimension(dimension, size);
  shape.set_dynamic_dimension(dimension, dynamic || IsUnbounded(size));
}

void AppendDimension(Shape& shape, const Shape& from, size_t i) {
  shape.add_dimension(from.dimension(i), from.is_dynamic_dimension(i));
}

Shape OneOrTuple(std::vector<Shape> shapes) {
  if (shapes.size() == 1) return std::move(shapes[0]);
  return Shape::Tuple(std::move(shapes));
}

Result<std::vector<Shape>> OperandShapes(const InferenceInput& input) {
  constexpr size_t kMaxElements = size_t{1} << 20;
  size_t elements = 0;
  for (const Shape* shape : input.operands) {
    elements += TupleElementCount(*shape);
    if (elements <= kMaxElements) continue;
    return Fail(input, fmt::format("has operands of more than {} in all",
                                   Counted(kMaxElements, "element")));
  }
  std::vector<Shape> shapes;
  shapes.reserve(input.operands.size());
  for (const Shape* shape : input.operands) shapes.push_back(*shape);
  return shapes;
}

Result<Shape> OperandOrTuple(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<Shape> shapes, OperandShapes(input));
  return OneOrTuple(std::move(shapes));
}

}  // namespace hloscope::hlo
