// Convolutions. Arrays go into the order that oneDNN likes best and come back from it; the kernel
// once for a run, inputs and outputs by part of the batch.
#include "core/codegen/library/convolution_call.h"

#include <algorithm>
#include <array>

#include "core/codegen/library/onednn.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/row_major.h"

namespace hloscope::codegen {

using dnnl::memory;
using hlo::InstructionId;
using hlo::Module;
using hlo::Shape;

namespace {

using Forward = dnnl::convolution_forward;

// Operations of one grain, about.
constexpr int64_t kGrainFlops = int64_t{16} << 20;

// An array as oneDNN names its dimensions: sizes and strides in elements.
struct Dimensions {
  memory::dims sizes, strides;
  void Add(int64_t size, int64_t stride) {
    sizes.push_back(size);
    strides.push_back(stride);
  }
  memory::desc Form(memory::data_type type) const { return {sizes, type, strides}; }
  memory::desc AnyForm(memory::data_type type) const {
    return {sizes, type, memory::format_tag::any};
  }
};

// Batch, features, then what is spatial; at least one dimension of that.
Dimensions ActivationDimensions(const Shape& shape, int64_t batch, int64_t feature,
                                const std::vector<int64_t>& spatial) {
  const std::vector<int64_t> strides = hlo::RowMajorStrides(shape.dimensions());
  Dimensions out;
  const auto add = [&](int64_t d) {
    out.Add(shape.dimension(static_cast<size_t>(d)), strides[static_cast<size_t>(d)]);
  };
  add(batch);
  add(feature);
  for (const int64_t d : spatial) add(d);
  if (spatial.empty()) out.Add(1, 1);
  return out;
}

// Groups where there are several, output features, input features, what is spatial.
Dimensions KernelDimensions(const Shape& shape, const hlo::ConvolutionDims& dims, int64_t groups) {
  const std::vector<int64_t> strides = hlo::RowMajorStrides(shape.dimensions());
  const auto out = static_cast<size_t>(dims.kernel_output_feature),
             in = static_cast<size_t>(dims.kernel_input_feature);
  const int64_t of_group = shape.dimension(out) / groups;
  Dimensions kernel;
  if (groups > 1) kernel.Add(groups, of_group * strides[out]);
  kernel.Add(of_group, strides[out]);
  kernel.Add(shape.dimension(in), strides[in]);
  for (const int64_t d : dims.kernel_spatial) {
    kernel.Add(shape.dimension(static_cast<size_t>(d)), strides[static_cast<size_t>(d)]);
  }
  if (dims.kernel_spatial.empty()) kernel.Add(1, 1);
  return kernel;
}

// A copy of an array in another order; none where the orders are the same.
struct Reorder {
  memory::desc from, to, scratch;
  dnnl::reorder primitive;
  bool is_needed = false;

  void Make(const memory::desc& source, const memory::desc& target) {
    from = source;
    to = target;
    is_needed = source != target;
    if (!is_needed) return;
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::engine& engine = OneDnnEngine();
    const dnnl::reorder::primitive_desc description(engine, source, engine, target, attributes);
    scratch = description.scratchpad_desc();
    primitive = dnnl::reorder(description);
  }
  Status Run(const std::byte* source, const std::byte* target) const {
    const std::array arguments = {OneDnnArgument{DNNL_ARG_FROM, &from, source},
                                  OneDnnArgument{DNNL_ARG_TO, &to, target}};
    return RunOneDnn(primitive, scratch, arguments);
  }
};

// The convolution of some part of the batch.
struct Part {
  Reorder input, output;
  memory::desc kernel, scratch;
  Forward primitive;
};

struct Window {
  memory::dims strides, dilates, low, high;
};

class ConvolutionCall : public compile::LibraryCall {
 public:
  ConvolutionCall(Dimensions input, Dimensions kernel, Dimensions output, Window window,
                  std::array<memory::data_type, 3> types, std::array<int64_t, 3> element_bytes)
      : input_(std::move(input)),
        kernel_(std::move(kernel)),
        output_(std::move(output)),
        window_(std::move(window)),
        types_(types),
        bytes_(element_bytes) {
    int64_t flops = 2;
    for (const int64_t size : output_.sizes) flops *= size;
    for (const int64_t size : kernel_.sizes) flops *= size;
    flops /= output_.sizes[1] * output_.sizes[0];
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
      kernel_order_.Make(kernel_.Form(types_[1]), whole_.kernel);
    });
  }

  int64_t grains() const { return (batch() + cut_ - 1) / cut_; }
  int64_t scratch_bytes() const {
    return kernel_order_.is_needed ? static_cast<int64_t>(kernel_order_.to.get_size()) : 0;
  }

  Status Prepare(const std::byte* const* operands, std::byte* scratch) const override {
    return kernel_order_.is_needed ? kernel_order_.Run(operands[1], scratch) : Status();
  }

  Status Run(const std::byte* const* operands, std::byte* const* results, std::byte* scratch,
             int64_t begin, int64_t end) const override {
    const std::byte* kernel = kernel_order_.is_needed ? scratch : operands[1];
    for (int64_t grain = begin; grain < end; ++grain) {
      const int64_t first = grain * cut_;
      const Part& part = first + cut_ > batch() ? last_ : whole_;
      HLOSCOPE_TRY(RunPart(part, operands[0] + first * input_.strides[0] * bytes_[0], kernel,
                           results[0] + first * output_.strides[0] * bytes_[2]));
    }
    return {};
  }

 private:
  int64_t batch() const { return output_.sizes[0]; }

  Part MakePart(int64_t count) const {
    Dimensions input = input_, output = output_;
    input.sizes[0] = output.sizes[0] = count;
    const Forward::desc what(dnnl::prop_kind::forward_inference,
                             dnnl::algorithm::convolution_direct, input.AnyForm(types_[0]),
                             kernel_.AnyForm(types_[1]), output.AnyForm(types_[2]), window_.strides,
                             window_.dilates, window_.low, window_.high);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const Forward::primitive_desc description(what, attributes, OneDnnEngine());
    Part part;
    part.input.Make(input.Form(types_[0]), description.src_desc());
    part.output.Make(description.dst_desc(), output.Form(types_[2]));
    part.kernel = description.weights_desc();
    part.scratch = description.scratchpad_desc();
    part.primitive = Forward(description);
    return part;
  }

  Status RunPart(const Part& part, const std::byte* input, const std::byte* kernel,
                 const std::byte* output) const {
    thread_local std::vector<std::byte> input_memory, output_memory;
    const std::byte* from = input;
    const std::byte* to = output;
    if (part.input.is_needed) {
      from = Room(input_memory, part.input.to.get_size());
      HLOSCOPE_TRY(part.input.Run(input, from));
    }
    if (part.output.is_needed) to = Room(output_memory, part.output.from.get_size());
    const std::array arguments = {OneDnnArgument{DNNL_ARG_SRC, &part.input.to, from},
                                  OneDnnArgument{DNNL_ARG_WEIGHTS, &part.kernel, kernel},
                                  OneDnnArgument{DNNL_ARG_DST, &part.output.from, to}};
    HLOSCOPE_TRY(RunOneDnn(part.primitive, part.scratch, arguments));
    return part.output.is_needed ? part.output.Run(to, output) : Status();
  }

  Dimensions input_, kernel_, output_;
  Window window_;
  std::array<memory::data_type, 3> types_;
  std::array<int64_t, 3> bytes_;
  int64_t cut_ = 1;  // elements of the batch for each grain
  Part whole_, last_;
  Reorder kernel_order_;
};

Window WindowOf(const hlo::Window* window, size_t spatial) {
  Window out;
  for (const hlo::WindowDimension& each :
       hlo::WindowDimensions(window, std::max<size_t>(1, spatial))) {
    out.strides.push_back(each.stride);
    out.dilates.push_back(each.window_dilation - 1);
    out.low.push_back(each.padding_low);
    out.high.push_back(each.padding_high);
  }
  return out;
}

}  // namespace

Result<compile::KernelCode> MakeConvolutionCall(const Module& module, InstructionId convolution) {
  const auto operands = module.operands(convolution);
  const hlo::ConvDims read = hlo::ConvDimsOf(module, convolution);
  const hlo::ConvolutionDims& dims = *read.labels;
  const auto [types, bytes] = ElementTypesOf(module, convolution);
  auto call = std::make_shared<ConvolutionCall>(
      ActivationDimensions(module.shape(operands[0]), dims.input_batch, dims.input_feature,
                           dims.input_spatial),
      KernelDimensions(module.shape(operands[1]), dims, read.feature_groups),
      ActivationDimensions(module.shape(convolution), dims.output_batch, dims.output_feature,
                           dims.output_spatial),
      WindowOf(read.window, dims.input_spatial.size()), types, bytes);
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
