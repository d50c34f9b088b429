// Windows of a scatter: forms, grains and starts.
#include "core/codegen/emit/scatter_windows.h"

namespace hloscope::codegen {

using hlo::ElementType;
using hlo::InstructionId;
using llvm::Value;

namespace {

// Each call goes through all indices, which is worth less the smaller its share of updates is.
constexpr int64_t kMaxGrains = 8;

}  // namespace

ScatterWindows::ScatterWindows(const Kernel& kernel)
    : module_(kernel.module),
      root_(kernel.roots[0]),
      operands_(module_.operands(root_)),
      arity_((operands_.size() - 1) / 2),
      sizes_(module_.shape(array(0)).dimensions()),
      updates_(module_.shape(update(0)).dimensions()),
      dims_(hlo::ScatterDimsOf(module_, root_)),
      window_(dims_.WindowDims(sizes_.size())) {
  extent_.assign(sizes_.size(), 1);
  for (size_t i = 0; i < window_.size(); ++i) extent_[window_[i]] = updates_[UpdateDim(i)];
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (extent_[d] == 1) places_ *= sizes_[d];
    may_meet_ |= extent_[d] != 1 && extent_[d] != sizes_[d] &&
                 Contains(dims_.scatter_dims_to_operand_dims, d);
  }
  if (may_meet_) return;
  per_grain_ = (places_ - 1) / (kernel.is_for_gpu() ? kMaxGpuGrains : kMaxGrains) + 1;
  grains_ = (places_ - 1) / per_grain_ + 1;
}

std::vector<size_t> ScatterWindows::BatchDims() const {
  std::vector<size_t> batch;
  for (size_t d = 0; d < updates_.size(); ++d) {
    if (!Contains(dims_.update_window_dims, d)) batch.push_back(d);
  }
  return batch;
}

int ScatterWindows::InPlace(const Kernel& kernel, size_t i) const {
  if (kernel.id == kernel.roots[0]) return static_cast<int>(i);
  const auto found = std::ranges::find(kernel.parameters, array(i));
  if (found == kernel.parameters.end()) return -1;
  return static_cast<int>(found - kernel.parameters.begin());
}

void ScatterWindows::Begin(KernelFunction& function, Value* begin, Value* end) {
  Builder& b = function.builder();
  Value* per_grain = function.Int(per_grain_);
  first_place_ = b.CreateMul(begin, per_grain);
  Value* last = function.Smaller(b.CreateMul(end, per_grain), function.Int(places_));
  place_count_ = b.CreateSub(last, first_place_);
}

ScatterWindows::Start ScatterWindows::StartOf(ElementEmitter& emitter, IndexMath& math,
                                              Index batch) const {
  const auto vector_dim = static_cast<size_t>(dims_.index_vector_dim);
  const auto all = module_.shape(indices()).dimensions();
  std::vector<int64_t> sizes(all.begin(), all.end());
  const bool has_vectors = vector_dim < sizes.size();
  if (has_vectors) sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(vector_dim));
  Start start;
  start.numbers.assign(sizes_.size(), math.Constant(0));
  for (size_t i = 0; i < dims_.input_batching_dims.size(); ++i) {
    const auto to = static_cast<size_t>(dims_.input_batching_dims[i]);
    auto d = static_cast<size_t>(dims_.scatter_indices_batching_dims[i]);
    if (has_vectors && d > vector_dim) --d;
    start.numbers[to] = math.Of(batch, sizes, d);
    // XLA lets the sizes differ, and leaves out what has no place.
    if (sizes[d] > sizes_[to]) {
      start.fits = Both(math, start.fits, math.IsBelow(start.numbers[to], sizes_[to]));
    }
  }
  if (has_vectors) math.CutAt(batch, sizes, vector_dim);
  const auto map = dims_.scatter_dims_to_operand_dims;
  for (size_t k = 0; k < map.size(); ++k) {
    Index index = batch;
    if (has_vectors) {
      auto at = index.groups.begin();
      for (size_t d = 0; d < vector_dim; ++at) d += at->count;
      index.groups.insert(at, {1, math.Constant(static_cast<int64_t>(k))});
    }
    const auto d = static_cast<size_t>(map[k]);
    start.numbers[d] = Coordinate(math, emitter.Emit(indices(), std::move(index)),
                                  sizes_[d] - extent_[d], start.fits);
  }
  if (grains_ > 1 && place_count_ != nullptr) {
    start.fits = Both(math, start.fits, IsInGrains(math, start.numbers));
  }
  return start;
}

// An index as a lane number; `fits` then also says that it is from 0 to `last`.
LaneNumber ScatterWindows::Coordinate(IndexMath& math, Value* index, int64_t last,
                                      Value*& fits) const {
  Builder& b = math.builder();
  const ElementType type = module_.shape(indices()).element_type();
  const bool is_signed = hlo::IsSigned(type);
  const int bits = hlo::BitWidth(type) - (is_signed ? 1 : 0);
  if (bits >= 63 || last < (int64_t{1} << bits) - 1) {
    fits = Both(math, fits, b.CreateICmpULE(index, IntegerLike(index, last)));
  } else if (is_signed) {
    fits = Both(math, fits, b.CreateICmpSGE(index, IntegerLike(index, 0)));
  }
  const bool is_vector = index->getType()->isVectorTy();
  const auto wanted = static_cast<unsigned>(is_vector ? math.lane_bits() : 64);
  llvm::Type* to = LanesLike(index, b.getIntNTy(wanted));
  index = is_signed ? b.CreateSExtOrTrunc(index, to) : b.CreateZExtOrTrunc(index, to);
  return is_vector ? math.FromVector(index) : math.FromScalar(index);
}

Value* ScatterWindows::IsInGrains(IndexMath& math, const std::vector<LaneNumber>& start) const {
  Builder& b = math.builder();
  Index place;
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < sizes_.size(); ++d) {
    if (extent_[d] != 1) continue;
    place.groups.push_back({1, start[d]});
    sizes.push_back(sizes_[d]);
  }
  const LaneNumber number =
      math.Add(math.Offset(place, sizes), math.FromScalar(b.CreateNeg(first_place_)));
  if (number.is_uniform()) return b.CreateICmpULT(number.base, place_count_);
  return b.CreateICmpULT(math.Vector(number), math.Vector(math.FromScalar(place_count_)));
}

Value* InLanes(IndexMath& math, Value* x) {
  if (math.width() == 1 || x->getType()->isVectorTy()) return x;
  return math.builder().CreateVectorSplat(static_cast<unsigned>(math.width()), x);
}

Value* Both(IndexMath& math, Value* a, Value* b) {
  if (a == nullptr) return b;
  if (a->getType() == b->getType()) return math.builder().CreateAnd(a, b);
  return math.builder().CreateAnd(InLanes(math, a), InLanes(math, b));
}

}  // namespace hloscope::codegen
