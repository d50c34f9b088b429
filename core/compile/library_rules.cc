#include "core/compile/library_rules.h"

#include <algorithm>

#include "core/compile/dot_form.h"
#include "core/compile/kernel_rules.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// A call of oneDNN takes 2 us, in which a kernel computes about so many.
constexpr double kFewProducts = 1 << 15;
constexpr int64_t kMaxGaps = 1 << 14;  // in a dimension of a window
// Products of input and output features, and elements of a row, of convolutions along space.
constexpr int64_t kFewFeatures = 32, kMinAlongSpace = 16;
// A padded input of more elements than that, and than so many times the input's, is not made.
constexpr double kMaxPadded = 1 << 22, kMaxPaddedTimes = 64;

// True for products of a matrix and a vector, which read each element once: they are multiplied and
// reduced in the time that memory takes, in which oneDNN's products are not.
bool IsMatrixTimesVector(const Module& module, InstructionId dot) {
  const std::optional<DotForm> form = DotFormOf(module, dot);
  return form && (form->rows == 1 || form->columns == 1);
}

// Few features, of arrays whose neighbours in memory are neighbours in space: vectors of a kernel
// run through space, those of oneDNN through features.
bool IsAlongSpace(const Module& module, InstructionId id, const hlo::ConvDims& dims) {
  const InstructionId input = module.operands(id)[0], kernel = module.operands(id)[1];
  const auto runs_along = [&](InstructionId array, std::span<const int64_t> spatial) {
    const auto sizes = module.shape(array).dimensions();
    size_t last = sizes.size() - 1;
    while (last > 0 && sizes[last] == 1) --last;
    return sizes[last] >= kMinAlongSpace &&
           std::ranges::count(spatial, static_cast<int64_t>(last)) > 0;
  };
  const auto features = [&](int64_t d) {
    return module.shape(kernel).dimension(static_cast<size_t>(d));
  };
  return dims.feature_groups == 1 && runs_along(input, dims.labels->input_spatial) &&
         runs_along(id, dims.labels->output_spatial) &&
         features(dims.labels->kernel_input_feature) *
                 features(dims.labels->kernel_output_feature) <=
             kFewFeatures;
}

// As convolution normalization leaves it, in up to three dimensions.
bool IsPlainConvolution(const Module& module, InstructionId id) {
  const hlo::ConvDims dims = hlo::ConvDimsOf(module, id);
  const auto is_plain = [](const hlo::WindowDimension& w) {
    // oneDNN takes time and memory for the gaps of a window.
    const bool is_near = w.size <= 1 || w.window_dilation - 1 <= kMaxGaps / (w.size - 1);
    return !w.window_reversal && is_near;
  };
  return dims.labels != nullptr && dims.labels->input_spatial.size() <= 3 &&
         dims.batch_groups == 1 && !IsAlongSpace(module, id, dims) &&
         (dims.window == nullptr || std::ranges::all_of(dims.window->dimensions, is_plain)) &&
         !IsPaddedTooLarge(module, id);
}

// True for the sizes that XLA declares: a real transform has half of the last dimension and one
// more of complex numbers.
bool HasTransformSizes(const Module& module, InstructionId id, std::span<const int64_t> lengths) {
  const auto in = module.shape(module.operands(id)[0]).dimensions();
  const auto out = module.shape(id).dimensions();
  const auto type = static_cast<hlo::FftType>(module.GetInt(module[id], AttributeKey::kFftType));
  if (in.size() < lengths.size() || in.size() != out.size()) return false;
  const size_t before = in.size() - lengths.size();
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t half = i + 1 == lengths.size() ? lengths[i] / 2 + 1 : lengths[i];
    if (in[before + i] != (type == hlo::FftType::kIrfft ? half : lengths[i])) return false;
    if (out[before + i] != (type == hlo::FftType::kRfft ? half : lengths[i])) return false;
  }
  return std::ranges::equal(in.first(before), out.first(before));
}

// Of whole arrays in f32 or f64, in up to three dimensions.
bool IsPlainTransform(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  const auto lengths = module.GetInts(module[id], AttributeKey::kFftLength);
  const Shape &in = module.shape(operands[0]), &out = module.shape(id);
  if (!IsWholeArray(in) || !IsWholeArray(out) || lengths.empty() || lengths.size() > 3)
    return false;
  const ElementType type = IsComplex(in.element_type()) ? in.element_type() : out.element_type();
  const bool is_double = type == ElementType::kC128;
  const auto fits = [&](ElementType each) {
    return each == type || each == (is_double ? ElementType::kF64 : ElementType::kF32);
  };
  return IsComplex(type) && fits(in.element_type()) && fits(out.element_type()) &&
         HasTransformSizes(module, id, lengths);
}

}  // namespace

// Products of one type, summed up in f32 and rounded once to the result's.
bool HasLibraryTypes(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  const ElementType type = module.shape(operands[0]).element_type();
  const ElementType out = module.shape(id).element_type();
  return module.shape(operands[1]).element_type() == type &&
         ((type == ElementType::kF32 && out == type) ||
          (type == ElementType::kBF16 && (out == type || out == ElementType::kF32)));
}

double ProductsOf(const Module& module, InstructionId id) {
  const Shape& left = module.shape(module.operands(id)[0]);
  double products = static_cast<double>(module.shape(id).ElementCount().value_or(0));
  for (const int64_t d : hlo::DotDimsOf(module, id).lhs.contracting) {
    products *= static_cast<double>(left.dimension(static_cast<size_t>(d)));
  }
  return products;
}

bool NeedsPaddedInput(const hlo::WindowDimension& w) {
  return w.base_dilation != 1 || w.padding_low < 0 || w.padding_high < 0;
}

bool IsPaddedTooLarge(const Module& module, InstructionId convolution) {
  const hlo::ConvDims dims = hlo::ConvDimsOf(module, convolution);
  const Shape& input = module.shape(module.operands(convolution)[0]);
  const auto spatial = hlo::WindowDimensions(dims.window, dims.labels->input_spatial.size());
  const auto before = static_cast<double>(input.ElementCount().value_or(0));
  double after = before;
  for (size_t s = 0; s < spatial.size(); ++s) {
    const hlo::WindowDimension& w = spatial[s];
    const auto size =
        static_cast<double>(input.dimension(static_cast<size_t>(dims.labels->input_spatial[s])));
    if (!NeedsPaddedInput(w) || size == 0) continue;
    after *= ((size - 1) * static_cast<double>(w.base_dilation) + 1 +
              static_cast<double>(w.padding_low) + static_cast<double>(w.padding_high)) /
             size;
  }
  return after > kMaxPadded && after > before * kMaxPaddedTimes;
}

bool IsSmallDot(const Module& module, InstructionId id) {
  return ProductsOf(module, id) <= kFewProducts;
}

bool IsLibraryCall(const Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  if (opcode == Opcode::kFft) return IsPlainTransform(module, id);
  if (opcode != Opcode::kDot && opcode != Opcode::kConvolution) return false;
  const auto is_whole = [&](InstructionId operand) { return IsWholeArray(module.shape(operand)); };
  if (!is_whole(id) || !std::ranges::all_of(module.operands(id), is_whole)) return false;
  if (module.operands(id).size() != 2 || !HasLibraryTypes(module, id)) return false;
  if (opcode == Opcode::kDot) {
    return !IsSmallDot(module, id) && DotFormOf(module, id).has_value() &&
           !IsMatrixTimesVector(module, id);
  }
  return IsPlainConvolution(module, id);
}

std::vector<InstructionId> LibraryCallsOf(const Module& module) {
  std::vector<InstructionId> calls;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    if (IsLibraryCall(module, InstructionId(i))) calls.emplace_back(i);
  }
  return calls;
}

}  // namespace hloscope::compile
