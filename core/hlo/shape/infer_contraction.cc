// Shape rules of convolution, fft, cholesky and triangular-solve (XLA:
// ShapeInference::InferConvolveShape, InferFftShape, InferCholeskyShape,
// InferTriangularSolveShape).
#include <algorithm>
#include <charconv>

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/shape/infer.h"
#include "core/hlo/window.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

// What a convolution works on: right side without its sparsity data, and the numbers read once.
struct Convolution {
  const Shape* lhs;
  const Shape* rhs;
  const Window* window;
  const ConvolutionDims* dims;
  int64_t feature_groups;
  int64_t batch_groups;
};

Result<Convolution> ReadConvolution(const InferenceInput& input) {
  if (input.operands.size() < 2) {
    return Fail(input, fmt::format("has {}, expected at least 2",
                                   Counted(input.operands.size(), "operand")));
  }
  const ConvDims dims = ConvDimsOf(input.module, input.attributes);
  if (dims.labels == nullptr) return Fail(input, "needs the attribute dim_labels=");
  static const Window kNoWindow;
  Convolution c = {
      .lhs = input.operands[0],
      .rhs = input.operands[1],
      .window = dims.window == nullptr ? &kNoWindow : dims.window,
      .dims = dims.labels,
      .feature_groups = dims.feature_groups,
      .batch_groups = dims.batch_groups,
  };
  // A sparse right side is a tuple of the values and where they are.
  if (c.rhs->IsTuple() && c.rhs->elements().size() == 2) c.rhs = c.rhs->elements().data();
  if (c.lhs->IsArray() && c.rhs->IsArray()) return c;
  return Fail(input,
              fmt::format("has operands {} and {}, expected arrays", Text(*c.lhs), Text(*c.rhs)));
}

// batch, feature and spatial dimensions are together 0..rank-1, each once.
Status CheckRoles(const InferenceInput& input, std::string_view side, int64_t batch,
                  int64_t feature, std::span<const int64_t> spatial, size_t rank) {
  std::vector<int64_t> all(spatial.begin(), spatial.end());
  all.push_back(batch);
  all.push_back(feature);
  std::ranges::sort(all);
  bool complete = all.size() == rank;
  for (size_t i = 0; complete && i < rank; ++i) complete = all[i] == static_cast<int64_t>(i);
  if (complete) return {};
  return Fail(input, fmt::format("has dim_labels= whose {} names dimensions {}, expected each of "
                                 "{} once",
                                 side, Text(all), rank));
}

Status CheckLabels(const InferenceInput& input, const Convolution& c) {
  const ConvolutionDims& d = *c.dims;
  size_t spatial = d.input_spatial.size(), rank = spatial + 2;
  if (d.kernel_spatial.size() != spatial || d.output_spatial.size() != spatial ||
      c.window->dimensions.size() != spatial) {
    return Fail(input, fmt::format("has {} spatial dimensions left, {} right, {} in the result and "
                                   "{} in the window",
                                   spatial, d.kernel_spatial.size(), d.output_spatial.size(),
                                   c.window->dimensions.size()));
  }
  if (c.lhs->rank() != rank || c.rhs->rank() != rank) {
    return Fail(input, fmt::format("has operands {} and {}, but dim_labels= are for rank {}",
                                   Text(*c.lhs), Text(*c.rhs), rank));
  }
  HLOSCOPE_TRY(
      CheckRoles(input, "left side", d.input_batch, d.input_feature, d.input_spatial, rank));
  HLOSCOPE_TRY(CheckRoles(input, "right side", d.kernel_input_feature, d.kernel_output_feature,
                          d.kernel_spatial, rank));
  return CheckRoles(input, "result", d.output_batch, d.output_feature, d.output_spatial, rank);
}

int64_t SizeAt(const Shape& shape, int64_t dimension) {
  return shape.dimension(static_cast<size_t>(dimension));
}

// The number at the start of `text`, which is cut off; nullopt where there is none.
std::optional<int64_t> TakeNumber(std::string_view& text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// Input features of the kernel as the left side sees them: a sparse kernel, rhs={sparsity=1xN …},
// stores one of N.
Result<int64_t> KernelInputFeatures(const InferenceInput& input, const Convolution& c) {
  int64_t stored = SizeAt(*c.rhs, c.dims->kernel_input_feature);
  const Attribute* a = FindAttribute(input, AttributeKey::kSparsityConfig);
  if (a == nullptr || IsUnbounded(stored)) return stored;
  constexpr std::string_view kKey = "sparsity=";
  std::string_view text = input.module[input.module.Of<RawAttribute>(*a).text];
  size_t rhs = text.find("rhs={");
  if (rhs == text.npos) return stored;
  size_t at = text.find(kKey, rhs);
  text.remove_prefix(at == text.npos ? text.size() : at + kKey.size());
  std::optional<int64_t> present = TakeNumber(text);
  if (text.starts_with('x')) text.remove_prefix(1);
  std::optional<int64_t> block = TakeNumber(text);
  std::optional<int64_t> features = block ? CheckedMul(stored, *block) : std::nullopt;
  if (present == 1 && features.has_value() && *block > 0) return *features;
  return Fail(input, "has a sparsity_config= whose rhs is not sparsity=1xN");
}

bool Divides(int64_t divisor, int64_t size) { return IsUnbounded(size) || size % divisor == 0; }

Status CheckGroups(const InferenceInput& input, const Convolution& c) {
  if (c.feature_groups <= 0 || c.batch_groups <= 0 ||
      (c.feature_groups > 1 && c.batch_groups > 1)) {
    return Fail(input, fmt::format("has feature_group_count={} and batch_group_count={}, expected "
                                   "positive counts of which one is 1",
                                   c.feature_groups, c.batch_groups));
  }
  int64_t features = SizeAt(*c.lhs, c.dims->input_feature);
  int64_t out_features = SizeAt(*c.rhs, c.dims->kernel_output_feature);
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t kernel_features, KernelInputFeatures(input, c));
  if (!Divides(c.feature_groups, features) ||
      (!IsUnbounded(features) && !SizesAgree(features / c.feature_groups, kernel_features))) {
    return Fail(input,
                fmt::format("has {} left in {}, {} per group right", Counted(features, "feature"),
                            Counted(c.feature_groups, "group"), kernel_features));
  }
  if (!Divides(c.feature_groups, out_features) || !Divides(c.batch_groups, out_features)) {
    return Fail(input, fmt::format("has {}, expected a multiple of {}",
                                   Counted(out_features, "output feature"),
                                   Counted(std::max(c.feature_groups, c.batch_groups), "group")));
  }
  if (!Divides(c.batch_groups, SizeAt(*c.lhs, c.dims->input_batch))) {
    return Fail(input, fmt::format("has batch size {}, expected a multiple of batch_group_count={}",
                                   SizeAt(*c.lhs, c.dims->input_batch), c.batch_groups));
  }
  if (c.rhs->is_dynamic_dimension(static_cast<size_t>(c.dims->kernel_output_feature))) {
    return Fail(input, fmt::format("has right side {} with a dynamic number of output features",
                                   Text(*c.rhs)));
  }
  return {};
}

// Sizes the spatial dimension `i` of the result.
Status InferSpatial(const InferenceInput& input, const Convolution& c, size_t i, Shape& result) {
  auto left = static_cast<size_t>(c.dims->input_spatial[i]);
  auto right = static_cast<size_t>(c.dims->kernel_spatial[i]);
  const WindowDimension& window = c.window->dimensions[i];
  if (c.rhs->dimension(right) != window.size) {
    return Fail(input, fmt::format("has window size {} in spatial dimension {}, right side {} has "
                                   "{}",
                                   window.size, i, Text(*c.rhs), c.rhs->dimension(right)));
  }
  int64_t size = c.lhs->dimension(left);
  if (!IsUnbounded(size)) {
    Result<int64_t> places = WindowPlaces(window, size);
    if (!places.has_value()) {
      return Fail(input, fmt::format("spatial dimension {}: {}", i, places.error().message));
    }
    size = *places;
  }
  SetDimension(result, static_cast<size_t>(c.dims->output_spatial[i]), size,
               c.lhs->is_dynamic_dimension(left) || c.rhs->is_dynamic_dimension(right));
  return {};
}

// The last dimension of an fft in place of the operand's.
Shape WithLastDimension(const Shape& shape, ElementType type, int64_t size) {
  Shape result = WithElementType(shape, type);
  size_t last = shape.rank() - 1;
  bool dynamic = shape.is_dynamic_dimension(last) && !shape.is_unbounded_dimension(last);
  SetDimension(result, last, size, dynamic);
  return result;
}

// Operand dimensions from `first` on agree with the first `count` lengths.
Status CheckLengths(const InferenceInput& input, std::span<const int64_t> lengths, size_t count) {
  const Shape& operand = *input.operands[0];
  size_t first = operand.rank() - lengths.size();
  for (size_t i = 0; i < count; ++i) {
    if (SizesAgree(operand.dimension(first + i), lengths[i])) continue;
    return Fail(input,
                fmt::format("has fft_length={}, dimension {} of operand {} is {}", Text(lengths),
                            first + i, Text(operand), operand.dimension(first + i)));
  }
  return {};
}

Status CheckMatrix(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  const Shape& a = *input.operands[0];
  size_t rank = a.rank();
  if (!IsFloat(a.element_type()) && !IsComplex(a.element_type())) {
    return Fail(input, fmt::format("has operand {}, expected floats or complex numbers", Text(a)));
  }
  if (rank >= 2 && SizesAgree(a.dimension(rank - 2), a.dimension(rank - 1))) return {};
  return Fail(input, fmt::format("has operand {}, expected square matrices", Text(a)));
}

}  // namespace

Result<Shape> InferConvolution(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(Convolution c, ReadConvolution(input));
  HLOSCOPE_TRY(CheckLabels(input, c));
  HLOSCOPE_TRY(CheckGroups(input, c));
  ElementType type = HigherPrecision(c.lhs->element_type(), c.rhs->element_type());
  if (input.declared != nullptr && input.declared->IsArray()) type = input.declared->element_type();
  Shape result = Shape::Array(type, std::vector<int64_t>(c.lhs->rank(), 0));
  auto batch = static_cast<size_t>(c.dims->input_batch);
  int64_t batch_size = c.lhs->dimension(batch);
  SetDimension(result, static_cast<size_t>(c.dims->output_batch),
               IsUnbounded(batch_size) ? batch_size : batch_size / c.batch_groups,
               c.lhs->is_dynamic_dimension(batch));
  SetDimension(result, static_cast<size_t>(c.dims->output_feature),
               SizeAt(*c.rhs, c.dims->kernel_output_feature), false);
  for (size_t i = 0; i < c.window->dimensions.size(); ++i) {
    HLOSCOPE_TRY(InferSpatial(input, c, i, result));
  }
  return result;
}

Result<Shape> InferFft(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArray(input, 0));
  const Shape& operand = *input.operands[0];
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t kind, NeedInt(input, AttributeKey::kFftType));
  HLOSCOPE_ASSIGN_OR_RETURN(auto lengths, NeedInts(input, AttributeKey::kFftLength));
  if (lengths.empty() || lengths.size() > 3 || lengths.size() > operand.rank()) {
    return Fail(input, fmt::format("has fft_length={} for operand {}, expected 1 to 3 dimensions",
                                   Text(lengths), Text(operand)));
  }
  ElementType type = operand.element_type();
  bool real = type == ElementType::kF32 || type == ElementType::kF64;
  auto fft = static_cast<FftType>(kind);
  if (fft == FftType::kRfft ? !real : !IsComplex(type)) {
    return Fail(input, fmt::format("has operand {}, expected {}", Text(operand),
                                   fft == FftType::kRfft ? "f32 or f64" : "complex numbers"));
  }
  if (fft != FftType::kRfft && fft != FftType::kIrfft) return operand;
  int64_t last_length = lengths.back();
  if (last_length < 0) {
    return Fail(input, fmt::format("has fft_length={}, expected sizes ≥ 0", Text(lengths)));
  }
  if (fft == FftType::kRfft) {
    HLOSCOPE_TRY(CheckLengths(input, lengths, lengths.size()));
    ElementType to = type == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128;
    return WithLastDimension(operand, to, last_length == 0 ? 0 : last_length / 2 + 1);
  }
  HLOSCOPE_TRY(CheckLengths(input, lengths, lengths.size() - 1));
  int64_t last = operand.dimension(operand.rank() - 1);
  bool empty = last == 0 && last_length == 0;
  if (!empty && !SizesAgree(last, last_length / 2 + 1)) {
    return Fail(input, fmt::format("has last dimension {} in operand {}, fft_length={} needs {}",
                                   last, Text(operand), Text(lengths), last_length / 2 + 1));
  }
  return WithLastDimension(operand, RealPart(type), last_length);
}

Result<Shape> InferCholesky(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckMatrix(input));
  return *input.operands[0];
}

Result<Shape> InferTriangularSolve(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckMatrix(input));
  HLOSCOPE_TRY(CheckArray(input, 1));
  const Shape& a = *input.operands[0];
  const Shape& b = *input.operands[1];
  size_t rank = a.rank();
  bool fits = a.element_type() == b.element_type() && b.rank() == rank;
  for (size_t i = 0; fits && i + 2 < rank; ++i) fits = a.dimension(i) == b.dimension(i);
  size_t shared = BoolOr(input, AttributeKey::kLeftSide, false) ? 2 : 1;
  if (!fits || !SizesAgree(a.dimension(rank - 1), b.dimension(rank - shared))) {
    return Fail(input, fmt::format("has operands {} and {}, expected equal types, batch dimensions "
                                   "and size of a in dimension {} of b",
                                   Text(a), Text(b), rank - shared));
  }
  int64_t transpose =
      IntOr(input, AttributeKey::kTransposeA, static_cast<int64_t>(TransposeA::kNoTranspose));
  if (transpose < static_cast<int64_t>(TransposeA::kNoTranspose) ||
      transpose > static_cast<int64_t>(TransposeA::kAdjoint)) {
    return Fail(input, "has an invalid transpose_a=");
  }
  return b;
}

}  // namespace hloscope::hlo
