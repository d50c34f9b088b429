// Convolutions. Arrays go into the order that oneDNN likes best and come back from it; the kernel
// once for a run, inputs and outputs by part of the batch. oneDNN may multiply the weights by zeros
// outside of the input and between its elements, where there is no product: with weights that are
// not finite such a convolution is done directly.
#include "core/codegen/library/convolution_call.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/codegen/library/direct_convolution.h"
#include "core/codegen/library/onednn.h"
#include "core/codegen/library/padded_input.h"
#include "core/codegen/library/reorder.h"

namespace hloscope::codegen {

using dnnl::memory;
using hlo::InstructionId;
using hlo::Module;

namespace {

using Forward = dnnl::convolution_forward;

// Operations of one grain, about.
constexpr int64_t kGrainFlops = int64_t{16} << 20;
// At the beginning of the scratch memory: whether the convolution is done directly.
constexpr int64_t kFlagBytes = 64;

// oneDNN names groups only where there are several.
ArrayForm WeightsOf(const ConvolutionForm& form) {
  ArrayForm weights = form.weights;
  if (form.groups() == 1) {
    weights.sizes.erase(weights.sizes.begin());
    weights.strides.erase(weights.strides.begin());
  }
  return weights;
}

// The convolution of some part of the batch.
struct Part {
  PaddedInput padded;
  Reorder input, output;
  memory::desc kernel, scratch;
  Forward primitive;
};

class ConvolutionCall : public compile::LibraryCall {
 public:
  explicit ConvolutionCall(ConvolutionForm form)
      : form_(std::move(form)), weights_(WeightsOf(form_)), has_gaps_(form_.HasGaps()) {
    int64_t flops = 2 * form_.output.ElementCount() * form_.weights.ElementCount();
    flops /= form_.output.sizes[1] * form_.output.sizes[0];
    cut_ = std::clamp<int64_t>(kGrainFlops / std::max<int64_t>(flops, 1), 1, batch());
  }

  Status Make() {
    return MakeWithOneDnn([&] {
      whole_ = MakePart(cut_);
      const int64_t rest = batch() % cut_;
      if (rest != 0) last_ = MakePart(rest);
      // One order of the kernel serves both.
      if (rest != 0 && last_.kernel != whole_.kernel) {
        cut_ = batch();
        whole_ = MakePart(cut_);
      }
      kernel_order_.MakeUnlessSame(FormOf(weights_), whole_.kernel);
    });
  }

  int64_t grains() const { return (batch() + cut_ - 1) / cut_; }
  int64_t scratch_bytes() const {
    const auto ordered = kernel_order_.is_needed()
                             ? static_cast<int64_t>(kernel_order_.to().get_size())
                             : int64_t{0};
    if (!has_gaps_) return ordered;
    const auto packed = weights_.ElementCount() * static_cast<int64_t>(sizeof(float));
    return kFlagBytes + std::max(ordered, packed);
  }

  Status Prepare(const std::byte* const* operands, std::byte* scratch) const override {
    if (has_gaps_) {
      const bool is_direct = !AreFinite(weights_.type, operands[1], weights_.ElementCount());
      std::memcpy(scratch, &is_direct, sizeof is_direct);
      scratch += kFlagBytes;
      if (is_direct) {
        PackWeights(form_, operands[1], reinterpret_cast<float*>(scratch));
        return {};
      }
    }
    return kernel_order_.is_needed() ? kernel_order_.Run(operands[1], scratch) : Status();
  }

  Status Run(const std::byte* const* operands, std::byte* const* results, std::byte* scratch,
             int64_t begin, int64_t end) const override {
    bool is_direct = false;
    if (has_gaps_) {
      std::memcpy(&is_direct, scratch, sizeof is_direct);
      scratch += kFlagBytes;
    }
    const std::byte* kernel = kernel_order_.is_needed() ? scratch : operands[1];
    for (int64_t grain = begin; grain < end; ++grain) {
      const int64_t first = grain * cut_;
      const std::byte* input = operands[0] + first * form_.input.strides[0] * form_.input.bytes();
      std::byte* output = results[0] + first * form_.output.strides[0] * form_.output.bytes();
      if (is_direct) {
        ConvolveDirectly(form_, input, reinterpret_cast<const float*>(scratch), output,
                         std::min(cut_, batch() - first));
      } else {
        HLOSCOPE_TRY(RunPart(first + cut_ > batch() ? last_ : whole_, input, kernel, output));
      }
    }
    return {};
  }

 private:
  int64_t batch() const { return form_.output.sizes[0]; }

  Part MakePart(int64_t count) const {
    ArrayForm input = form_.input, output = form_.output;
    input.sizes[0] = output.sizes[0] = count;
    std::vector<hlo::WindowDimension> window = form_.window;
    Part part;
    part.padded.Make(input, window);
    memory::dims strides, dilates, low, high;
    for (const hlo::WindowDimension& each : window) {
      strides.push_back(each.stride);
      dilates.push_back(each.window_dilation - 1);
      low.push_back(each.padding_low);
      high.push_back(each.padding_high);
    }
    const Forward::desc what(dnnl::prop_kind::forward_inference,
                             dnnl::algorithm::convolution_direct, AnyFormOf(part.padded.form()),
                             AnyFormOf(weights_), AnyFormOf(output), strides, dilates, low, high);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const Forward::primitive_desc description(what, attributes, OneDnnEngine());
    part.input.MakeUnlessSame(FormOf(part.padded.form()), description.src_desc());
    part.output.MakeUnlessSame(description.dst_desc(), FormOf(output));
    part.kernel = description.weights_desc();
    part.scratch = description.scratchpad_desc();
    part.primitive = Forward(description);
    return part;
  }

  Status RunPart(const Part& part, const std::byte* input, const std::byte* kernel,
                 const std::byte* output) const {
    thread_local std::vector<std::byte> padded_memory, input_memory, output_memory;
    const std::byte* from = input;
    const std::byte* to = output;
    if (part.padded.is_needed()) {
      std::byte* padded = Room(padded_memory, static_cast<size_t>(part.padded.bytes()));
      HLOSCOPE_TRY(part.padded.Run(from, padded));
      from = padded;
    }
    if (part.input.is_needed()) {
      const std::byte* ordered = Room(input_memory, part.input.to().get_size());
      HLOSCOPE_TRY(part.input.Run(from, ordered));
      from = ordered;
    }
    if (part.output.is_needed()) to = Room(output_memory, part.output.from().get_size());
    const std::array arguments = {OneDnnArgument{DNNL_ARG_SRC, &part.input.to(), from},
                                  OneDnnArgument{DNNL_ARG_WEIGHTS, &part.kernel, kernel},
                                  OneDnnArgument{DNNL_ARG_DST, &part.output.from(), to}};
    HLOSCOPE_TRY(RunOneDnn(part.primitive, part.scratch, arguments));
    return part.output.is_needed() ? part.output.Run(to, output) : Status();
  }

  ConvolutionForm form_;
  ArrayForm weights_;  // as oneDNN names their dimensions
  bool has_gaps_;
  int64_t cut_ = 1;  // elements of the batch for each grain
  Part whole_, last_;
  Reorder kernel_order_;
};

}  // namespace

Result<compile::KernelCode> MakeConvolutionCall(const Module& module, InstructionId convolution) {
  auto call = std::make_shared<ConvolutionCall>(ConvolutionForm::Of(module, convolution));
  HLOSCOPE_TRY(call->Make());
  compile::KernelCode code;
  code.name = "oneDNN convolution";
  code.grains = call->grains();
  code.scratch_bytes = call->scratch_bytes();
  code.grain_bytes = kGrainFlops;
  code.library = std::move(call);
  return code;
}

}  // namespace hloscope::codegen
