// Convolutions on a GPU as products of matrices: rows are places of the result, columns its
// features, the depth are the window's places and the input's features. A place outside the input
// is left out.
#include <optional>

#include "core/codegen/dot/gpu_lanes.h"
#include "core/codegen/dot/gpu_tiles.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::codegen {

using hlo::InstructionId;
using llvm::Value;

namespace {

constexpr int64_t kMinRows = 32, kMinColumns = 8, kMinDepth = 8;  // that tiles are worth
constexpr int64_t kMinTileProducts = 1 << 19;                     // likewise
// Results that give enough threads several each.
constexpr int64_t kManyResults = 2 * kEnoughThreads;

class GpuConvolution {
 public:
  explicit GpuConvolution(const Kernel& kernel)
      : kernel_(kernel),
        root_(kernel.roots[0]),
        read_(hlo::ConvDimsOf(kernel.module, root_)),
        dims_(*read_.labels),
        input_(Sizes(kernel.module.operands(root_)[0])),
        weights_(Sizes(kernel.module.operands(root_)[1])),
        out_(Sizes(root_)),
        window_(WindowOf(kernel, dims_.input_spatial.size())) {
    feature_groups_ = read_.feature_groups;
    batch_groups_ = read_.batch_groups;
    groups_ = feature_groups_ * batch_groups_;  // one of them is 1
    what_.turns = groups_;
    what_.columns = out_[At(dims_.output_feature)] / groups_;
    what_.rows = out_[At(dims_.output_batch)];
    for (const int64_t d : dims_.output_spatial) what_.rows *= out_[At(d)];
    what_.depth = weights_[At(dims_.kernel_input_feature)];
    for (const int64_t d : dims_.kernel_spatial) what_.depth *= weights_[At(d)];
  }

  // In tiles or, where they are few or narrow, by lanes; none where a thread has several results.
  std::optional<EmittedKernel> Emit(llvm::Module& module, const std::string& name) {
    const int64_t results = what_.turns * what_.rows * what_.columns;
    if (what_.rows >= kMinRows && what_.columns >= kMinColumns && what_.depth >= kMinDepth &&
        results * what_.depth >= kMinTileProducts) {
      GpuTiles tiles(module, kernel_, root_, name, what_.turns, what_.rows, what_.columns);
      return Emit(tiles, name);
    }
    if (results >= kManyResults) return std::nullopt;
    GpuLanes lanes(module, kernel_, root_, name, results, what_.depth);
    return Emit(lanes, name);
  }

 private:
  template <typename Sums>
  EmittedKernel Emit(Sums& sums, const std::string& name) {
    b_ = &sums.function().builder();
    const bool are_features_last = dims_.input_feature + 1 == static_cast<int64_t>(input_.size());
    what_.left.is_depth_fast = are_features_last;
    what_.left.has_gaps = false;
    for (size_t s = 0; s < window_.size(); ++s) what_.left.has_gaps |= HasGaps(s);
    what_.left.place = [&](Value* turn, Value* row, Value* k) { return InputAt(turn, row, k); };
    what_.right.is_depth_fast =
        dims_.kernel_output_feature + 1 != static_cast<int64_t>(weights_.size());
    what_.right.place = [&](Value* turn, Value* column, Value* k) {
      return WeightAt(turn, column, k);
    };
    what_.result = [&](Value* turn, Value* row, Value* column) {
      std::vector<Value*> at = PlaceOf(row);
      at[At(dims_.output_feature)] = Feature(turn, column);
      return Offset(at, out_);
    };
    return sums.Emit(name, what_);
  }

  static size_t At(int64_t d) { return static_cast<size_t>(d); }
  Value* Int(int64_t value) { return b_->getInt64(static_cast<uint64_t>(value)); }
  std::span<const int64_t> Sizes(InstructionId id) const {
    return kernel_.module.shape(id).dimensions();
  }
  Value* TakeLast(Value*& rest, int64_t size) {
    Value* last = b_->CreateURem(rest, Int(size));
    rest = b_->CreateUDiv(rest, Int(size));
    return last;
  }
  Value* Offset(const std::vector<Value*>& at, std::span<const int64_t> sizes) {
    Value* offset = Int(0);
    for (size_t d = 0; d < sizes.size(); ++d) {
      offset = b_->CreateAdd(b_->CreateMul(offset, Int(sizes[d])), at[d]);
    }
    return offset;
  }

  // Number `row` of the places of the result, as they lie in it; its feature is left open.
  std::vector<Value*> PlaceOf(Value* row) {
    std::vector<Value*> at(out_.size());
    Value* rest = row;
    for (size_t d = out_.size(); d-- > 0;) {
      if (d != At(dims_.output_feature)) at[d] = TakeLast(rest, out_[d]);
    }
    return at;
  }
  Value* Feature(Value* turn, Value* column) {
    return b_->CreateAdd(b_->CreateMul(turn, Int(what_.columns)), column);
  }
  // The window's places, by dimension, and the feature, which is the last.
  std::pair<std::vector<Value*>, Value*> DepthOf(Value* k) {
    std::vector<Value*> taps(window_.size());
    Value* rest = k;
    Value* feature = TakeLast(rest, weights_[At(dims_.kernel_input_feature)]);
    for (size_t s = taps.size(); s-- > 0;) {
      taps[s] = TakeLast(rest, weights_[At(dims_.kernel_spatial[s])]);
    }
    return {taps, feature};
  }

  bool HasGaps(size_t s) const {
    return hlo::HasGaps(window_[s], input_[At(dims_.input_spatial[s])],
                        weights_[At(dims_.kernel_spatial[s])], out_[At(dims_.output_spatial[s])]);
  }

  TiledProducts::Place WeightAt(Value* turn, Value* column, Value* k) {
    const auto [taps, feature] = DepthOf(k);
    std::vector<Value*> at(weights_.size());
    at[At(dims_.kernel_input_feature)] = feature;
    at[At(dims_.kernel_output_feature)] = Feature(turn, column);
    for (size_t s = 0; s < taps.size(); ++s) at[At(dims_.kernel_spatial[s])] = taps[s];
    return {Offset(at, weights_)};
  }

  TiledProducts::Place InputAt(Value* turn, Value* row, Value* k) {
    const std::vector<Value*> place = PlaceOf(row);
    auto [taps, feature] = DepthOf(k);
    std::vector<Value*> at(input_.size());
    const int64_t batch = input_[At(dims_.input_batch)];
    Value* feature_group = feature_groups_ > 1 ? turn : Int(0);
    Value* batch_group = batch_groups_ > 1 ? turn : Int(0);
    at[At(dims_.input_feature)] = b_->CreateAdd(
        b_->CreateMul(feature_group, Int(weights_[At(dims_.kernel_input_feature)])), feature);
    at[At(dims_.input_batch)] = b_->CreateAdd(
        b_->CreateMul(batch_group, Int(batch / batch_groups_)), place[At(dims_.output_batch)]);
    Value* is_there = nullptr;
    for (size_t s = 0; s < window_.size(); ++s) {
      const hlo::WindowDimension& w = window_[s];
      const int64_t size = input_[At(dims_.input_spatial[s])];
      Value* tap = taps[s];
      if (w.window_reversal) {
        tap = b_->CreateSub(Int(weights_[At(dims_.kernel_spatial[s])] - 1), tap);
      }
      Value* number = b_->CreateAdd(
          b_->CreateMul(place[At(dims_.output_spatial[s])], Int(w.stride)),
          b_->CreateAdd(b_->CreateMul(tap, Int(w.window_dilation)), Int(-w.padding_low)));
      if (HasGaps(s)) {
        Value* is_inside = b_->CreateICmpULT(number, Int((size - 1) * w.base_dilation + 1));
        number = b_->CreateSelect(is_inside, number, Int(0));
        if (w.base_dilation > 1) {
          Value* hole = b_->CreateURem(number, Int(w.base_dilation));
          is_inside = b_->CreateAnd(is_inside, b_->CreateICmpEQ(hole, Int(0)));
          number = b_->CreateUDiv(number, Int(w.base_dilation));
        }
        is_there = is_there == nullptr ? is_inside : b_->CreateAnd(is_there, is_inside);
      }
      at[At(dims_.input_spatial[s])] = number;
    }
    return {Offset(at, input_), is_there};
  }

  const Kernel& kernel_;
  InstructionId root_;
  hlo::ConvDims read_;
  const hlo::ConvolutionDims& dims_;
  std::span<const int64_t> input_, weights_, out_;
  std::vector<hlo::WindowDimension> window_;
  int64_t feature_groups_ = 1, batch_groups_ = 1, groups_ = 1;
  TiledProducts what_;
  Builder* b_ = nullptr;
};

}  // namespace

EmittedKernel EmitGpuConvolution(llvm::Module& module, const Kernel& kernel,
                                 const std::string& name) {
  const auto emitted = GpuConvolution(kernel).Emit(module, name);
  return emitted.has_value() ? *emitted : EmitConvolution(module, kernel, name);
}

}  // namespace hloscope::codegen
