// Convolutions by cuDNN's graphs. Input and result are described as they lie; the filter is brought
// into the order that cuDNN has engines for: features of the input innermost where the input has
// them innermost, else outermost behind those of the result.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "core/backends/cuda/helper_kernel.h"
#include "core/backends/cuda/library_dnn.h"
#include "core/backends/cuda/library_work.h"
#include "core/compile/plan/plan.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/row_major.h"

namespace hloscope::replay::cuda {
namespace {

using hlo::ElementType;

constexpr size_t kRank = 5;  // at most: batch, features, three of space

// Dimensions of an array in cuDNN's order.
DnnArray ArrayOf(const hlo::Shape& shape, int64_t batch, int64_t feature,
                 std::span<const int64_t> spatial) {
  const std::vector<int64_t> strides = hlo::RowMajorStrides(shape.dimensions());
  DnnArray out;
  const auto add = [&](int64_t d) {
    out.sizes.push_back(shape.dimension(static_cast<size_t>(d)));
    out.strides.push_back(strides[static_cast<size_t>(d)]);
  };
  add(batch);
  add(feature);
  // One dimension of space is two, the first of one element.
  if (spatial.size() == 1) {
    const auto along = static_cast<size_t>(spatial[0]);
    out.sizes.push_back(1);
    out.strides.push_back(shape.dimension(along) * strides[along]);
  }
  for (const int64_t d : spatial) add(d);
  return out;
}

// The strides of a dense array of these sizes: features behind space, or before it.
std::vector<int64_t> DenseStrides(const std::vector<int64_t>& sizes, bool features_last) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  const auto take = [&](size_t d) {
    strides[d] = stride;
    stride *= sizes[d];
  };
  if (features_last) take(1);
  for (size_t d = sizes.size(); d-- > 2;) take(d);
  if (!features_last) take(1);
  take(0);
  return strides;
}

class Convolution : public LibraryWork {
 public:
  static Result<std::shared_ptr<const LibraryWork>> Make(const AlgorithmRequest& order,
                                                         DnnConvolution what, ElementType type,
                                                         std::string_view way) {
    auto out = std::make_shared<Convolution>();
    out->bytes_ = hlo::StorageBytes(type);
    out->filter_ = what.filter;
    what.filter.strides = DenseStrides(what.filter.sizes, what.input.strides[1] == 1);
    out->filter_bytes_ = out->bytes_;
    for (const int64_t size : what.filter.sizes) out->filter_bytes_ *= size;
    if (out->filter_.strides != what.filter.strides) {
      out->reordered_ = what.filter;
      HLOSCOPE_ASSIGN_OR_RETURN(
          out->reorder_, HelperKernel::Load(order.device, "reorder", ReorderCode(out->bytes_)));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(out->plan_, DnnPlan::Make(order.device, order.library, what, way));
    return out;
  }

  std::vector<AlgorithmCandidate> proposals() const override { return plan_->proposals(); }
  size_t taken() const override { return plan_->taken(); }
  int64_t scratch_bytes() const override {
    const int64_t filter = reordered_.sizes.empty() ? 0 : filter_bytes_;
    return plan_->workspace_bytes() + filter + 2 * int64_t{kWorkspaceAlignment};
  }

  Status Enqueue(StreamHandle stream, std::span<const Address> addresses) const override {
    const Address workspace = AlignedWorkspace(addresses[3]);
    Address filter = addresses[1];
    if (!reordered_.sizes.empty()) {
      filter = AlignedWorkspace(workspace + static_cast<Address>(plan_->workspace_bytes()));
      HLOSCOPE_TRY(Reorder(stream, addresses[1], filter));
    }
    return plan_->Enqueue(stream, {addresses[0], filter, addresses[2]}, workspace);
  }

 private:
  Status Reorder(StreamHandle stream, Address from, Address to) const {
    // Dimensions as they lie in the reordered filter, outermost first.
    std::vector<size_t> order(reordered_.sizes.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    std::ranges::stable_sort(order, std::greater(),
                             [&](size_t d) { return reordered_.strides[d]; });
    std::array<uint64_t, kRank> sizes{}, strides{};
    sizes.fill(1);
    for (size_t i = 0; i < order.size(); ++i) {
      sizes[kRank - order.size() + i] = static_cast<uint64_t>(filter_.sizes[order[i]]);
      strides[kRank - order.size() + i] = static_cast<uint64_t>(filter_.strides[order[i]]);
    }
    uint64_t count = static_cast<uint64_t>(filter_bytes_ / bytes_);
    std::vector<void*> parameters = {&from, &to, &count};
    for (size_t i = 1; i < kRank; ++i) parameters.push_back(&sizes[i]);
    for (uint64_t& stride : strides) parameters.push_back(&stride);
    return reorder_.Launch(stream, count, parameters);
  }

  int64_t bytes_ = 0, filter_bytes_ = 0;
  DnnArray filter_, reordered_;  // as it lies, and as it is wanted (empty: the same)
  HelperKernel reorder_;
  std::unique_ptr<DnnPlan> plan_;
};

std::string FormText(const DnnConvolution& of, ElementType type) {
  std::string text(hlo::ToString(type));
  for (const auto& [name, array] :
       {std::pair("input", &of.input), {"filter", &of.filter}, {"result", &of.result}}) {
    text += fmt::format(" {} {}:{}", name, fmt::join(array->sizes, ","),
                        fmt::join(array->strides, ","));
  }
  return text + fmt::format(" stride {} dilation {} pad {}_{}", fmt::join(of.strides, ","),
                            fmt::join(of.dilations, ","), fmt::join(of.low, ","),
                            fmt::join(of.high, ","));
}

}  // namespace

Result<AlgorithmCandidates> OfferConvolution(const AlgorithmRequest& order) {
  const hlo::Module& module = order.module;
  const auto operands = module.operands(order.id);
  const hlo::Shape &input = module.shape(operands[0]), &filter = module.shape(operands[1]),
                   &out = module.shape(order.id);
  const ElementType type = out.element_type();
  const auto dnn_type = DnnTypeOf(type);
  if (!dnn_type || input.element_type() != type || filter.element_type() != type) {
    return UnsupportedError(fmt::format("it is called for no convolution of {} and {} to {}",
                                        hlo::ToString(input.element_type()),
                                        hlo::ToString(filter.element_type()), hlo::ToString(type)));
  }
  const auto [labels, window, feature_groups, batch_groups] = hlo::ConvDimsOf(module, order.id);
  const hlo::ConvolutionDims& dims = *labels;
  const size_t space = dims.input_spatial.size();
  if (space == 0 || space > 3 || window == nullptr || batch_groups != 1) {
    return UnsupportedError("it has no plain window in one to three dimensions");
  }
  DnnConvolution what;
  what.type = *dnn_type;
  what.is_double = type == ElementType::kF64;
  what.is_narrow = hlo::BitWidth(type) < 32;
  what.input = ArrayOf(input, dims.input_batch, dims.input_feature, dims.input_spatial);
  what.filter =
      ArrayOf(filter, dims.kernel_output_feature, dims.kernel_input_feature, dims.kernel_spatial);
  what.result = ArrayOf(out, dims.output_batch, dims.output_feature, dims.output_spatial);
  const auto add = [&](int64_t stride, int64_t dilation, int64_t low, int64_t high) {
    what.strides.push_back(stride);
    what.dilations.push_back(dilation);
    what.low.push_back(low);
    what.high.push_back(high);
  };
  if (space == 1) add(1, 1, 0, 0);
  double products = static_cast<double>(out.ElementCount().value_or(0)) *
                    static_cast<double>(what.filter.sizes[1]);
  for (const hlo::WindowDimension& w : window->dimensions) {
    if (w.base_dilation != 1 || w.window_reversal || w.padding_low < 0 || w.padding_high < 0) {
      return UnsupportedError("its window has holes in the input, is reversed or cuts it off");
    }
    add(w.stride, w.window_dilation, w.padding_low, w.padding_high);
    products *= static_cast<double>(w.size);
  }
  return AlgorithmCandidates{.form = FormText(what, type),
                             .why_ours = products < library_sizes.products ? kTooSmall : "",
                             .make = [order, what, type](std::string_view way) {
                               return Convolution::Make(order, what, type, way);
                             }};
}

}  // namespace hloscope::replay::cuda
