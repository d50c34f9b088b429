// Result o of a dimension with holes of b - 1 is the sum over k of in[(o + k - low) / b] times
// kernel[k], for those k that leave nothing over: of o = b q + r these are k = c + b j where
// c = (low - r) mod b, and the input is read at q + j + (r + c - low) / b.
#include "core/compile/passes/convolution_phases.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Opcode;
using hlo::Shape;
using hlo::WindowDimension;

namespace {

constexpr int64_t kMaxPhases = 8;

// One dimension of one phase.
struct Phase {
  int64_t first = 0;  // of the kernel
  WindowDimension window;
};

class Phases {
 public:
  Phases(Edit& edit, const DilatedConvolution& whole)
      : edit_(edit),
        whole_(whole),
        sizes_(whole.result.dimensions().begin(), whole.result.dimensions().end()) {}

  bool Fit() {
    int64_t count = 1;
    for (size_t s = 0; s < whole_.window.dimensions.size(); ++s) {
      const WindowDimension& w = whole_.window.dimensions[s];
      std::vector<Phase>& phases = phases_.emplace_back();
      if (w.base_dilation == 1) {
        phases.push_back({0, w});
        continue;
      }
      count *= w.base_dilation;
      if (w.stride != 1 || w.window_dilation != 1 || count > kMaxPhases) return false;
      for (int64_t r = 0; r < w.base_dilation; ++r) {
        const Phase phase = PhaseOf(s, r);
        const WindowDimension& own = phase.window;
        if (own.size <= 0 || own.padding_low < 0 || own.padding_high < 0) return false;
        phases.push_back(phase);
      }
    }
    return count > 1;
  }

  // The phases of dimension `s` and those behind it, put together.
  InstructionId Join(size_t s, std::vector<Phase>& chosen) {
    if (s == phases_.size()) return One(chosen);
    std::vector<InstructionId> parts;
    for (const Phase& phase : phases_[s]) {
      chosen.push_back(phase);
      parts.push_back(Join(s + 1, chosen));
      chosen.pop_back();
    }
    return parts.size() == 1 ? parts[0] : Interleaved(s, parts);
  }

 private:
  static int64_t Rounds(int64_t size, int64_t by) { return (size + by - 1) / by; }
  int64_t Out(size_t s) const { return sizes_[static_cast<size_t>(whole_.dims.output_spatial[s])]; }

  // All phases of a dimension have as many results, some one that is not wanted.
  Phase PhaseOf(size_t s, int64_t r) const {
    const WindowDimension& w = whole_.window.dimensions[s];
    const int64_t b = w.base_dilation, in = SizeOfInput(s);
    Phase phase{((w.padding_low - r) % b + b) % b, w};
    WindowDimension& own = phase.window;
    own.base_dilation = 1;
    own.size = Rounds(w.size - phase.first, b);
    own.padding_low = (w.padding_low - r - phase.first) / b;
    own.padding_high = Rounds(Out(s), b) + own.size - 1 - in - own.padding_low;
    return phase;
  }
  int64_t SizeOfInput(size_t s) const {
    return edit_.shape(whole_.left).dimension(static_cast<size_t>(whole_.dims.input_spatial[s]));
  }

  // The convolution of one phase in each dimension.
  InstructionId One(const std::vector<Phase>& chosen) {
    hlo::ModuleBuilder& builder = edit_.rewriter().builder();
    std::vector<int64_t> sizes = sizes_, kernel = SizesOf(edit_.shape(whole_.right)), slice;
    for (const int64_t size : kernel) slice.insert(slice.end(), {0, size, 1});
    hlo::Window window;
    for (size_t s = 0; s < chosen.size(); ++s) {
      window.dimensions.push_back(chosen[s].window);
      const int64_t b = whole_.window.dimensions[s].base_dilation;
      if (b == 1) continue;
      const auto k = static_cast<size_t>(whole_.dims.kernel_spatial[s]);
      slice[3 * k] = chosen[s].first;
      slice[3 * k + 2] = b;
      kernel[k] = chosen[s].window.size;
      sizes[static_cast<size_t>(whole_.dims.output_spatial[s])] = Rounds(Out(s), b);
    }
    const InstructionId part =
        edit_.Add(whole_.at, "slice", Opcode::kSlice,
                  Shape::Array(edit_.shape(whole_.right).element_type(), kernel), {whole_.right},
                  {builder.MakeInts(AttributeKey::kSlice, slice)});
    return edit_.Add(whole_.at, "convolution", Opcode::kConvolution,
                     Shape::Array(whole_.result.element_type(), sizes), {whole_.left, part},
                     {builder.Make(AttributeKey::kWindow, window),
                      builder.Make(AttributeKey::kDimLabels, whole_.dims),
                      builder.MakeInt(AttributeKey::kFeatureGroupCount, whole_.feature_groups),
                      builder.MakeInt(AttributeKey::kBatchGroupCount, 1)});
  }

  // Result b q + r of dimension `s` is result q of part r.
  InstructionId Interleaved(size_t s, std::vector<InstructionId> parts) {
    hlo::ModuleBuilder& builder = edit_.rewriter().builder();
    const auto type = whole_.result.element_type();
    const auto d = whole_.dims.output_spatial[s];
    const auto at = static_cast<size_t>(d);
    std::vector<int64_t> sizes = SizesOf(edit_.shape(parts[0])), split = sizes;
    split.insert(split.begin() + d + 1, 1);
    for (InstructionId& part : parts) {
      part = edit_.Add(whole_.at, "reshape", Opcode::kReshape, Shape::Array(type, split), {part});
    }
    split[at + 1] = std::ssize(parts);
    InstructionId joined =
        edit_.Add(whole_.at, "concatenate", Opcode::kConcatenate, Shape::Array(type, split), parts,
                  {builder.MakeInts(AttributeKey::kDimensions, std::vector<int64_t>{d + 1})});
    sizes[at] *= std::ssize(parts);
    joined = edit_.Add(whole_.at, "reshape", Opcode::kReshape, Shape::Array(type, sizes), {joined});
    if (sizes[at] == Out(s)) return joined;
    std::vector<int64_t> slice;
    sizes[at] = Out(s);
    for (const int64_t size : sizes) slice.insert(slice.end(), {0, size, 1});
    return edit_.Add(whole_.at, "slice", Opcode::kSlice, Shape::Array(type, sizes), {joined},
                     {builder.MakeInts(AttributeKey::kSlice, slice)});
  }

  Edit& edit_;
  const DilatedConvolution& whole_;
  std::vector<int64_t> sizes_;              // of the result
  std::vector<std::vector<Phase>> phases_;  // by dimension of the window
};

}  // namespace

InstructionId InPhases(Edit& edit, const DilatedConvolution& whole) {
  Phases phases(edit, whole);
  if (!phases.Fit()) return {};
  std::vector<Phase> chosen;
  return phases.Join(0, chosen);
}

}  // namespace hloscope::compile
