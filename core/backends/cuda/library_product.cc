// Products of matrices by cuBLASLt. It has columns one behind the other where our arrays have rows,
// so what it is asked for is the transpose: (left · right)ᵀ = rightᵀ · leftᵀ, on the same bytes.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/backends/cuda/helper_kernel.h"
#include "core/backends/cuda/library_work.h"
#include "core/base/quick_hash.h"
#include "core/compile/dot_form.h"
#include "core/compile/plan/plan.h"

namespace hloscope::replay::cuda {
namespace {

using compile::DotForm;
using hlo::ElementType;

// Products that cannot be strided batches of one call are calls one by one.
constexpr int64_t kMaxCalls = 64;
// As NVIDIA advises (cuBLAS, 2.1.7).
constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;
constexpr int kMaxCandidates = 8;

// What is multiplied, and in what it is summed up.
struct NumberRow {
  ElementType in, out;
  int in_type, out_type, sum, scale;
};
constexpr NumberRow kNumbers[] = {
    {ElementType::kF32, ElementType::kF32, libraries::kR32, libraries::kR32, libraries::kCompute32,
     libraries::kR32},
    {ElementType::kF64, ElementType::kF64, libraries::kR64, libraries::kR64, libraries::kCompute64,
     libraries::kR64},
    {ElementType::kF16, ElementType::kF16, libraries::kR16, libraries::kR16, libraries::kCompute32,
     libraries::kR32},
    {ElementType::kF16, ElementType::kF32, libraries::kR16, libraries::kR32, libraries::kCompute32,
     libraries::kR32},
    {ElementType::kBF16, ElementType::kBF16, libraries::kBf16, libraries::kBf16,
     libraries::kCompute32, libraries::kR32},
    {ElementType::kBF16, ElementType::kF32, libraries::kBf16, libraries::kR32,
     libraries::kCompute32, libraries::kR32},
    {ElementType::kC64, ElementType::kC64, libraries::kC32, libraries::kC32, libraries::kCompute32,
     libraries::kC32},
    {ElementType::kC128, ElementType::kC128, libraries::kC64, libraries::kC64,
     libraries::kCompute64, libraries::kC64},
    {ElementType::kS8, ElementType::kS32, libraries::kS8, libraries::kS32, libraries::kComputeS32,
     libraries::kS32},
};

// 1 in the type of factors.
std::array<std::byte, 16> One(int scale) {
  std::array<std::byte, 16> out{};
  const float f = 1;
  const double d = 1;
  const int32_t i = 1;
  if (scale == libraries::kS32) {
    std::memcpy(out.data(), &i, sizeof i);
  } else if (scale == libraries::kR64 || scale == libraries::kC64) {
    std::memcpy(out.data(), &d, sizeof d);
  } else {
    std::memcpy(out.data(), &f, sizeof f);
  }
  return out;
}

// A matrix of `rows` × `columns` whose columns lie `ld` apart, or the transpose of the one meant.
struct Matrix {
  int64_t rows = 1, columns = 1, ld = 1;
  bool is_transposed = false;
};

// That of size rows × columns with these strides; nullopt: neither has a dimension without gaps.
// Strides of one index mean nothing.
std::optional<Matrix> MatrixOf(int64_t rows, int64_t columns, int64_t row_stride,
                               int64_t column_stride) {
  const auto fits = [](int64_t inner, int64_t outer, int64_t inner_stride, int64_t outer_stride) {
    return (inner == 1 || inner_stride == 1) && (outer == 1 || outer_stride >= inner);
  };
  if (fits(rows, columns, row_stride, column_stride)) {
    return Matrix{rows, columns, columns == 1 ? rows : column_stride, false};
  }
  if (fits(columns, rows, column_stride, row_stride)) {
    return Matrix{columns, rows, rows == 1 ? columns : row_stride, true};
  }
  return std::nullopt;
}

class Product : public LibraryWork {
 public:
  static Result<std::shared_ptr<const LibraryWork>> Make(const AlgorithmRequest& order,
                                                         const NumberRow& numbers, DotForm form,
                                                         std::string_view way) {
    auto out = std::make_shared<Product>();
    out->library_ = order.library;
    out->numbers_ = numbers;
    out->bytes_ = {hlo::StorageBytes(numbers.in), hlo::StorageBytes(numbers.in),
                   hlo::StorageBytes(numbers.out)};
    if (!form.loops.empty()) {
      out->batch_ = form.loops.back();
      form.loops.pop_back();
    }
    if (form.products() > kMaxCalls) {
      return UnsupportedError(fmt::format("it would be {} calls", form.products()));
    }
    out->form_ = std::move(form);
    if (numbers.in == ElementType::kS8) HLOSCOPE_TRY(out->PutDepthsInnermost(order.device));
    HLOSCOPE_TRY(out->Prepare(order.device));
    HLOSCOPE_ASSIGN_OR_RETURN(out->taken_, TakeCandidate(*order.library, out->proposals_, way));
    out->choice_ = out->choices_[out->taken_];
    return out;
  }

  std::vector<AlgorithmCandidate> proposals() const override { return proposals_; }
  size_t taken() const override { return taken_; }
  int64_t scratch_bytes() const override {
    auto bytes = static_cast<int64_t>(choice_.workspace_bytes + kWorkspaceAlignment);
    for (const Copy& copy : copies_) {
      bytes += static_cast<int64_t>(copy.bytes + kWorkspaceAlignment);
    }
    return bytes;
  }

  Status Enqueue(StreamHandle stream, std::span<const Address> addresses) const override {
    const Library& lt = *library_;
    const std::array<std::byte, 16> one = One(numbers_.scale), zero{};
    const Address workspace = AlignedWorkspace(addresses[3]);
    std::array<Address, 3> arrays = {addresses[0], addresses[1], addresses[2]};
    Address free = workspace + choice_.workspace_bytes;
    for (const Copy& copy : copies_) {
      free = AlignedWorkspace(free);
      HLOSCOPE_TRY(copy.Launch(reorder_, stream, arrays[copy.operand], free));
      arrays[copy.operand] = free;
      free += copy.bytes;
    }
    for (int64_t turn = 0; turn < form_.products(); ++turn) {
      const std::array<int64_t, 3> at = BytesBefore(turn);
      const auto address = [&](size_t i) {
        return Pointer(arrays[i] + static_cast<Address>(at[i]));
      };
      HLOSCOPE_TRY(
          lt.Check(lt->LtMultiply(handle_->get(), product_.get(), one.data(), address(1),
                                  right_.get(), address(0), left_.get(), zero.data(), address(2),
                                  out_.get(), address(2), out_.get(), &choice_.algorithm,
                                  Pointer(workspace), choice_.workspace_bytes, stream),
                   "multiplying"));
    }
    return {};
  }

 private:
  // An operand in another order: dense, with these dimensions.
  struct Copy {
    size_t operand = 0;  // 0: the left one
    uint64_t bytes = 1;  // of which each is an element
    std::array<uint64_t, 5> sizes{1, 1, 1, 1, 1}, strides{};

    Status Launch(const HelperKernel& kernel, StreamHandle stream, Address from, Address to) const {
      uint64_t count = bytes;
      std::array<uint64_t, 5> n = sizes, s = strides;
      std::vector<void*> parameters = {&from, &to, &count};
      for (size_t i = 1; i < n.size(); ++i) parameters.push_back(&n[i]);
      for (uint64_t& stride : s) parameters.push_back(&stride);
      return kernel.Launch(stream, count, parameters);
    }
  };

  // Of bytes cuBLASLt has algorithms only where what is summed over is without gaps in both
  // operands: one that has it otherwise is copied first.
  Status PutDepthsInnermost(const std::shared_ptr<const Device>& device) {
    for (const bool is_right : {false, true}) {
      int64_t& depth_stride = is_right ? form_.right_depth : form_.left_depth;
      if (depth_stride == 1) continue;
      const auto stride_of = [&](DotForm::Loop& loop) -> int64_t& {
        return is_right ? loop.right : loop.left;
      };
      // From the innermost on.
      std::vector<std::pair<int64_t, int64_t*>> dimensions = {
          {form_.depth, &depth_stride},
          {is_right ? form_.columns : form_.rows, is_right ? &form_.right_column : &form_.left_row},
          {batch_.size, &stride_of(batch_)}};
      for (size_t i = form_.loops.size(); i-- > 0;) {
        dimensions.emplace_back(form_.loops[i].size, &stride_of(form_.loops[i]));
      }
      // What an operand has once for all turns of a loop stays so.
      std::erase_if(dimensions, [](const auto& each) { return *each.second == 0; });
      Copy& copy = copies_.emplace_back();
      copy.operand = is_right ? 1 : 0;
      if (dimensions.size() > copy.sizes.size()) {
        return UnsupportedError("a matrix of s8 in it has too many dimensions to be reordered");
      }
      for (size_t i = 0; i < dimensions.size(); ++i) {
        const auto [size, stride] = dimensions[i];
        copy.sizes[copy.sizes.size() - 1 - i] = static_cast<uint64_t>(size);
        copy.strides[copy.sizes.size() - 1 - i] = static_cast<uint64_t>(*stride);
        *stride = static_cast<int64_t>(copy.bytes);
        copy.bytes *= static_cast<uint64_t>(size);
      }
    }
    if (copies_.empty()) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(reorder_, HelperKernel::Load(device, "reorder", ReorderCode(1)));
    return {};
  }

  Status Prepare(const std::shared_ptr<const Device>& device) {
    const Library& lt = *library_;
    const auto right = MatrixOf(form_.columns, form_.depth, form_.right_column, form_.right_depth);
    const auto left = MatrixOf(form_.depth, form_.rows, form_.left_depth, form_.left_row);
    const auto out = MatrixOf(form_.columns, form_.rows, form_.out_column, form_.out_row);
    if (!right || !left || !out || out->is_transposed) {
      return UnsupportedError("a matrix in it has gaps in both directions");
    }
    const auto keep = [&](LibraryHandle& to, void* handle, LibraryHandle::GiveBack give_back) {
      to = LibraryHandle(device, handle, give_back);
    };
    HLOSCOPE_ASSIGN_OR_RETURN(handle_,
                              SharedHandle::Of(device, library_, lt->LtCreate, lt->LtDestroy));
    void* made = nullptr;
    HLOSCOPE_TRY(
        lt.Check(lt->LtProductCreate(&made, numbers_.sum, numbers_.scale), "describing a product"));
    keep(product_, made, lt->LtProductDestroy);
    for (const auto& [name, matrix] : {std::pair(libraries::kLtTransposeA, &*right),
                                       std::pair(libraries::kLtTransposeB, &*left)}) {
      const int32_t value = matrix->is_transposed ? libraries::kTransposed : libraries::kAsIs;
      HLOSCOPE_TRY(lt.Check(lt->LtProductSet(product_.get(), name, &value, sizeof value),
                            "describing a product"));
    }
    const struct {
      LibraryHandle& to;
      const Matrix& matrix;
      int type;
      int64_t stride;
    } layouts[] = {{right_, *right, numbers_.in_type, batch_.right},
                   {left_, *left, numbers_.in_type, batch_.left},
                   {out_, *out, numbers_.out_type, batch_.out}};
    for (const auto& [to, matrix, type, stride] : layouts) {
      HLOSCOPE_TRY(lt.Check(lt->LtLayoutCreate(&made, type, static_cast<uint64_t>(matrix.rows),
                                               static_cast<uint64_t>(matrix.columns), matrix.ld),
                            "describing a matrix"));
      keep(to, made, lt->LtLayoutDestroy);
      if (batch_.size == 1) continue;
      const auto count = static_cast<int32_t>(batch_.size);
      HLOSCOPE_TRY(
          lt.Check(lt->LtLayoutSet(to.get(), libraries::kLtBatchCount, &count, sizeof count),
                   "describing a batch"));
      HLOSCOPE_TRY(
          lt.Check(lt->LtLayoutSet(to.get(), libraries::kLtBatchStride, &stride, sizeof stride),
                   "describing a batch"));
    }
    return Propose(device);
  }

  // What the library proposes depends on the sizes and the device alone. Partial sums stay in the
  // type that is summed up in.
  Status Propose(const std::shared_ptr<const Device>& device) {
    const Library& lt = *library_;
    void* made = nullptr;
    HLOSCOPE_TRY(lt.Check(lt->LtPreferenceCreate(&made), "choosing an algorithm"));
    const LibraryHandle preference(device, made, lt->LtPreferenceDestroy);
    const auto set = [&](int name, const auto& value) {
      return lt.Check(lt->LtPreferenceSet(preference.get(), name, &value, sizeof value),
                      "choosing an algorithm");
    };
    HLOSCOPE_TRY(set(libraries::kLtMostWorkspace, static_cast<uint64_t>(kWorkspaceBytes)));
    HLOSCOPE_TRY(set(libraries::kLtReductions, libraries::kLtSumsAreExact));
    const std::array<uint32_t, 3> alignments = Alignments();
    HLOSCOPE_TRY(set(libraries::kLtAlignmentA, alignments[1]));
    HLOSCOPE_TRY(set(libraries::kLtAlignmentB, alignments[0]));
    HLOSCOPE_TRY(set(libraries::kLtAlignmentC, alignments[2]));
    HLOSCOPE_TRY(set(libraries::kLtAlignmentD, alignments[2]));
    int found = 0;
    choices_.resize(kMaxCandidates);
    HLOSCOPE_TRY(lt.Check(
        lt->LtChoose(handle_->get(), product_.get(), right_.get(), left_.get(), out_.get(),
                     out_.get(), preference.get(), int{kMaxCandidates}, choices_.data(), &found),
        "choosing an algorithm"));
    choices_.resize(static_cast<size_t>(std::clamp<int>(found, 0, kMaxCandidates)));
    if (choices_.empty()) {
      return UnsupportedError(fmt::format("{}: not supported: it has no algorithm", lt.row().name));
    }
    for (const libraries::LtChoice& choice : choices_) {
      const std::string_view bytes(reinterpret_cast<const char*>(&choice.algorithm),
                                   sizeof choice.algorithm);
      const Status answer = lt.Check(choice.answer, "choosing an algorithm");
      proposals_.push_back(
          {fmt::format("proposal {} ({:016x})", proposals_.size() + 1, QuickHash(bytes, 1)),
           answer.has_value() ? "" : ReasonOf(answer.error())});
    }
    return {};
  }

  // Where the matrices of a turn of the loops begin.
  std::array<int64_t, 3> BytesBefore(int64_t turn) const {
    std::array<int64_t, 3> at{};
    for (size_t i = form_.loops.size(); i-- > 0; turn /= form_.loops[i].size) {
      const DotForm::Loop& loop = form_.loops[i];
      const int64_t index = turn % loop.size;
      at[0] += index * loop.left * bytes_[0];
      at[1] += index * loop.right * bytes_[1];
      at[2] += index * loop.out * bytes_[2];
    }
    return at;
  }
  // What all of those are multiples of, in bytes.
  std::array<uint32_t, 3> Alignments() const {
    std::array<int64_t, 3> out{compile::kBufferAlignment, compile::kBufferAlignment,
                               compile::kBufferAlignment};
    for (const DotForm::Loop& loop : form_.loops) {
      out[0] = std::gcd(out[0], loop.left * bytes_[0]);
      out[1] = std::gcd(out[1], loop.right * bytes_[1]);
      out[2] = std::gcd(out[2], loop.out * bytes_[2]);
    }
    return {static_cast<uint32_t>(out[0]), static_cast<uint32_t>(out[1]),
            static_cast<uint32_t>(out[2])};
  }

  std::shared_ptr<const Library> library_;
  NumberRow numbers_{};
  std::array<int64_t, 3> bytes_{};
  DotForm form_;           // without the innermost loop
  DotForm::Loop batch_{};  // that one
  std::vector<Copy> copies_;
  HelperKernel reorder_;
  std::shared_ptr<const SharedHandle> handle_;
  LibraryHandle product_, left_, right_, out_;
  std::vector<libraries::LtChoice> choices_;
  std::vector<AlgorithmCandidate> proposals_;  // the same by name
  size_t taken_ = 0;
  libraries::LtChoice choice_{};
};

std::string FormText(ElementType in, ElementType out, const DotForm& form) {
  std::string text = fmt::format("{} {} {}x{}x{} left {},{} right {},{} out {},{}",
                                 hlo::ToString(in), hlo::ToString(out), form.rows, form.columns,
                                 form.depth, form.left_row, form.left_depth, form.right_depth,
                                 form.right_column, form.out_row, form.out_column);
  for (const DotForm::Loop& loop : form.loops) {
    text += fmt::format(" loop {}:{},{},{}", loop.size, loop.left, loop.right, loop.out);
  }
  return text;
}

}  // namespace

Result<AlgorithmCandidates> OfferProduct(const AlgorithmRequest& order) {
  const hlo::Module& module = order.module;
  const auto operands = module.operands(order.id);
  const ElementType left = module.shape(operands[0]).element_type();
  const ElementType right = module.shape(operands[1]).element_type();
  const ElementType out = module.shape(order.id).element_type();
  const auto numbers = std::ranges::find_if(kNumbers, [&](const NumberRow& row) {
    return row.in == left && row.in == right && row.out == out;
  });
  if (numbers == std::end(kNumbers)) {
    return UnsupportedError(fmt::format("it is called for no product of {} and {} to {}",
                                        hlo::ToString(left), hlo::ToString(right),
                                        hlo::ToString(out)));
  }
  auto form = compile::DotFormOf(module, order.id);
  if (!form) return UnsupportedError("what is summed over is not one dimension");
  const double products = static_cast<double>(form->products()) * static_cast<double>(form->rows) *
                          static_cast<double>(form->columns) * static_cast<double>(form->depth);
  return AlgorithmCandidates{
      .form = FormText(left, out, *form),
      .why_ours = products < library_sizes.products ? kTooSmall : "",
      .make = [order, numbers = *numbers, form = *form](std::string_view way) {
        return Product::Make(order, numbers, form, way);
      }};
}

}  // namespace hloscope::replay::cuda
