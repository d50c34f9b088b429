// Which dimensions of a kernel's results can be run through as one.
#include "core/codegen/emit/loop_space.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "core/codegen/emit/index.h"
#include "core/codegen/math/numbers.h"
#include "core/compile/fusion/kernel_work.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::codegen {
namespace {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

constexpr int kNone = -1;   // no dimension of the results, or several
constexpr int kFixed = -2;  // the same index everywhere
constexpr size_t kMaxVisits = 20000;
constexpr int64_t kLargeRead = 4096;  // elements that do not stay in the nearest cache

// The dimensions of the results, those of size 1 left out, that one dimension of an array is made
// of: from `low` to `high`. Where several dimensions are made of the same ones, the first has only
// the low end and the last only the high one.
struct Label {
  int low = kNone, high = kNone;
  auto operator<=>(const Label&) const = default;
};
using Labels = std::vector<Label>;

class BorderFinder {
 public:
  BorderFinder(const Kernel& kernel, std::span<const int64_t> sizes)
      : kernel_(kernel), module_(kernel.module) {
    for (const int64_t size : sizes) {
      root_.push_back(size == 1 ? Label{} : Label{count_, count_});
      count_ += size != 1;
    }
    is_border_.assign(static_cast<size_t>(count_) + 1, false);
  }

  void Walk(std::span<const InstructionId> roots) {
    for (InstructionId root : roots) Visit(root, root_);
    while (!pending_.empty()) {
      const auto [id, labels] = pending_.back();
      pending_.pop_back();
      Follow(id, labels);
    }
  }

  std::vector<bool> Borders() const {
    std::vector<bool> borders(root_.size(), false);
    for (size_t d = 0; d < root_.size(); ++d) {
      borders[d] = d == 0 || (root_[d].low > 0 && is_border_[static_cast<size_t>(root_[d].low)]);
    }
    return borders;
  }

  Transposition Transposed() const {
    if (transposed_ == kNone) return {};
    const auto found =
        std::ranges::find_if(root_, [&](const Label& l) { return l.high == transposed_; });
    return {static_cast<int>(found - root_.begin()), is_only_};
  }

 private:
  std::span<const int64_t> Sizes(InstructionId id) const { return module_.shape(id).dimensions(); }

  void Visit(InstructionId id, const Labels& labels) {
    Constrain(id, labels);
    if (kernel_.IsParameter(id)) return Read(id, labels);
    if (seen_.size() > kMaxVisits) return;
    if (seen_.emplace(id, labels).second) pending_.emplace_back(id, labels);
  }

  void Read(InstructionId id, const Labels& labels) {
    const auto sizes = Sizes(id);
    // What is the same all along a row of the results (the starts of a gather's windows) is not
    // read across the rows.
    bool varies = false;
    for (size_t d = 0; d < sizes.size(); ++d) {
      varies |= sizes[d] != 1 && (labels[d] == Label{} || labels[d].high == count_ - 1);
    }
    if (!varies) return;
    for (size_t d = sizes.size(); d-- > 0;) {
      if (sizes[d] == 1) continue;
      if (ProductOf(sizes) < kLargeRead) return;
      const int along = labels[d].high == kFixed ? kNone : labels[d].high;
      is_only_ &=
          along != kNone && along != count_ - 1 && (transposed_ == kNone || transposed_ == along);
      if (along != kNone && along != count_ - 1) transposed_ = along;
      return;
    }
  }

  // Neighbours in the results have to be neighbours here, or both be absent.
  void Constrain(InstructionId id, const Labels& labels) {
    Labels present;
    const auto sizes = Sizes(id);
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] != 1) present.push_back(labels[d]);
    }
    for (int s = 1; s < count_; ++s) {
      const auto before =
          std::ranges::find_if(present, [&](const Label& l) { return l.high == s - 1; });
      const auto behind = std::ranges::find_if(present, [&](const Label& l) { return l.low == s; });
      const bool has_before = before != present.end(), has_behind = behind != present.end();
      if (has_before != has_behind || (has_before && behind - before != 1)) Border(s);
    }
  }
  void Border(int s) {
    if (s > 0 && s < count_) is_border_[static_cast<size_t>(s)] = true;
  }
  void Touch(const Label& label) {
    if (label.low != kNone) Border(label.low);
    if (label.high != kNone) Border(label.high + 1);
  }

  Labels Reshaped(const Labels& labels, std::span<const int64_t> sizes,
                  std::span<const int64_t> to) const {
    Labels out(to.size());
    size_t i = 0, j = 0;
    while (i < sizes.size() || j < to.size()) {
      int64_t left = 1, right = 1;
      std::vector<size_t> here, there;  // dimensions of more than one element
      const auto take_left = [&] {
        if (sizes[i] != 1) here.push_back(i);
        left *= sizes[i++];
      };
      const auto take_right = [&] {
        if (to[j] != 1) there.push_back(j);
        right *= to[j++];
      };
      do {
        if (i < sizes.size() && (left <= right || j == to.size())) {
          take_left();
        } else {
          take_right();
        }
      } while (left != right);
      if (here.empty() || there.empty()) continue;
      out[there.front()].low = labels[here.front()].low;
      out[there.back()].high = labels[here.back()].high;
      for (size_t k = 1; k < here.size(); ++k) {
        if (labels[here[k]].low == kNone || labels[here[k - 1]].high + 1 != labels[here[k]].low) {
          out[there.front()].low = out[there.back()].high = kNone;
        }
      }
    }
    return out;
  }

  void Follow(InstructionId id, const Labels& labels) {
    const auto operands = module_.operands(id);
    const auto ints = [&](AttributeKey key) { return module_.GetInts(module_[id], key); };
    const auto sizes = Sizes(id);
    switch (module_[id].opcode) {
      case Opcode::kBroadcast: {
        Labels out;
        for (const int64_t d : ints(AttributeKey::kDimensions)) {
          out.push_back(labels[static_cast<size_t>(d)]);
        }
        return Visit(operands[0], out);
      }
      case Opcode::kTranspose: {
        const auto order = ints(AttributeKey::kDimensions);
        Labels out(labels.size());
        for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = labels[i];
        return Visit(operands[0], out);
      }
      case Opcode::kBitcast:
      case Opcode::kReshape:
        return Visit(operands[0], Reshaped(labels, sizes, Sizes(operands[0])));
      case Opcode::kReverse:
        for (const int64_t d : ints(AttributeKey::kDimensions)) {
          Touch(labels[static_cast<size_t>(d)]);
        }
        return Visit(operands[0], labels);
      case Opcode::kConcatenate:
        Touch(labels[static_cast<size_t>(ints(AttributeKey::kDimensions)[0])]);
        for (InstructionId operand : operands) Visit(operand, labels);
        return;
      case Opcode::kDynamicSlice:
      case Opcode::kPad:
      case Opcode::kSlice:
        for (size_t d = 0; d < sizes.size(); ++d) {
          if (sizes[d] != Sizes(operands[0])[d] || IsMoved(id, d)) Touch(labels[d]);
        }
        return Visit(operands[0], OfSliced(Sizes(operands[0]), sizes, labels));
      case Opcode::kIota:
        return Touch(
            labels[static_cast<size_t>(module_.GetInt(module_[id], AttributeKey::kIotaDimension))]);
      case Opcode::kGather:
        return FollowGather(id, labels);
      default:
        for (InstructionId operand : operands) {
          if (Sizes(operand).size() == sizes.size()) Visit(operand, labels);
        }
    }
  }

  // Where one of several is taken, it is the same one everywhere.
  static Labels OfSliced(std::span<const int64_t> from, std::span<const int64_t> to,
                         Labels labels) {
    for (size_t d = 0; d < to.size(); ++d) {
      if (to[d] == 1 && from[d] != 1) labels[d] = {kFixed, kFixed};
    }
    return labels;
  }

  // A pad that is as large as its operand may still have moved it.
  bool IsMoved(InstructionId id, size_t d) const {
    return module_[id].opcode == Opcode::kPad &&
           module_.GetInts(module_[id], AttributeKey::kPadding)[3 * d] != 0;
  }

  void FollowGather(InstructionId id, const Labels& labels) {
    const auto operands = module_.operands(id);
    const hlo::GatherDims dims = hlo::GatherDimsOf(module_, id);
    Labels out(Sizes(operands[1]).size());
    for (size_t d = 0, next = 0; d < labels.size(); ++d) {
      if (std::ranges::count(dims.offset_dims, static_cast<int64_t>(d)) > 0) continue;
      if (static_cast<int64_t>(next) == dims.index_vector_dim) ++next;
      out[next++] = labels[d];
    }
    Visit(operands[1], out);
    // The dimensions of windows have starts of their own.
    for (int s = 1; s < count_; ++s) Border(s);
  }

  const Kernel& kernel_;
  const Module& module_;
  Labels root_;
  int count_ = 0;
  int transposed_ = kNone;
  bool is_only_ = true;
  std::vector<bool> is_border_;
  std::set<std::pair<InstructionId, Labels>> seen_;
  std::vector<std::pair<InstructionId, Labels>> pending_;
};

}  // namespace

std::vector<bool> Borders(const Kernel& kernel, std::span<const InstructionId> roots,
                          std::span<const int64_t> sizes) {
  BorderFinder finder(kernel, sizes);
  finder.Walk(roots);
  return finder.Borders();
}

Transposition FindTransposition(const Kernel& kernel, std::span<const InstructionId> roots,
                                std::span<const int64_t> sizes) {
  BorderFinder finder(kernel, sizes);
  finder.Walk(roots);
  return finder.Transposed();
}

std::vector<LoopGroup> Grouped(std::span<const int64_t> sizes, const std::vector<bool>& borders) {
  std::vector<LoopGroup> groups;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d == 0 || (borders[d] && groups.back().size != 1)) groups.emplace_back();
    ++groups.back().count;
    groups.back().size *= sizes[d];
  }
  return groups;
}

namespace {

int RegisterBytes(hlo::ElementType type) { return hlo::StorageBytes(WideType(type)); }

template <typename F>
void ForEachArray(const Kernel& kernel, const F& f) {
  const auto each = [&](InstructionId id) {
    const hlo::Shape& shape = kernel.module.shape(id);
    if (!shape.IsArray()) return;
    f(shape.element_type(), ProductOf(shape.dimensions()));
  };
  for (InstructionId id : kernel.parameters) each(id);
  for (InstructionId id : kernel.instructions) each(id);
}

}  // namespace

int FullWidth(const Kernel& kernel) {
  if (kernel.is_for_gpu()) return 1;
  int bytes = 1;
  ForEachArray(kernel, [&](hlo::ElementType type, int64_t count) {
    if (count > 1) bytes = std::max(bytes, RegisterBytes(type));
  });
  return std::min(32, 64 / bytes);
}

bool IsUnrolled(const Kernel& kernel) {
  return !kernel.is_for_gpu() &&
         compile::IsUnrolled(kernel.module, kernel.instructions, kernel.roots, FullWidth(kernel));
}

int LanesAlong(const Kernel& kernel, int64_t size) {
  const auto lanes = static_cast<uint64_t>(std::min<int64_t>(FullWidth(kernel), size));
  return static_cast<int>(std::bit_floor(lanes));
}

int LaneBits(const Kernel& kernel) {
  int bits = 32;
  ForEachArray(kernel, [&](hlo::ElementType, int64_t count) {
    if (count >= int64_t{1} << 30) bits = 64;
  });
  return bits;
}

int64_t GrainLimit(const Kernel& kernel, int64_t usual) { return kernel.is_for_gpu() ? 1 : usual; }

int64_t BytesPerElement(const Kernel& kernel, int64_t elements) {
  double bytes = 0;
  const auto add = [&](InstructionId id) {
    const hlo::Shape& shape = kernel.module.shape(id);
    if (!shape.IsArray()) return;
    const double share =
        static_cast<double>(ProductOf(shape.dimensions())) / static_cast<double>(elements);
    bytes += std::min(share, 4.0) * hlo::StorageBytes(shape.element_type());
  };
  for (InstructionId id : kernel.parameters) add(id);
  for (InstructionId id : kernel.roots) add(id);
  return std::max<int64_t>(1, static_cast<int64_t>(bytes));
}

}  // namespace hloscope::codegen
