// Products of matrices, cut into grains that depend on the shapes alone.
#include "core/codegen/library/dot_call.h"

#include <algorithm>
#include <array>

#include "core/codegen/library/onednn.h"
#include "core/compile/dot_form.h"

namespace hloscope::codegen {

using compile::DotForm;
using dnnl::memory;
using hlo::InstructionId;
using hlo::Module;

namespace {

// Operations of one grain, about: small ones share a call, large ones are cut.
constexpr int64_t kGrainFlops = int64_t{8} << 20;
// Rows and columns are cut to no less, so that packing an operand anew for each cut costs little,
// and into no more cuts.
constexpr int64_t kMinCut = 128;
constexpr int64_t kMaxCuts = 16;
constexpr int64_t kCutMultiple = 32;

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The length of cuts of a dimension of `size`, each index of which takes `flops`.
int64_t CutOf(int64_t size, int64_t flops) {
  const int64_t least = std::max(
      {kMinCut, CeilDivide(size, kMaxCuts), CeilDivide(kGrainFlops, std::max<int64_t>(flops, 1))});
  return std::min(size, CeilDivide(least, kCutMultiple) * kCutMultiple);
}

// A product of blocks of some size, as oneDNN runs it.
struct Product {
  memory::desc left, right, out, scratch;
  dnnl::matmul primitive;
};

// Strides of a dimension of one index mean nothing, but oneDNN looks at them.
memory::desc Form(std::array<int64_t, 3> sizes, memory::data_type type,
                  std::array<int64_t, 3> strides) {
  if (sizes[2] == 1) strides[2] = 1;
  if (sizes[1] == 1) strides[1] = sizes[2] * strides[2];
  if (sizes[0] == 1) strides[0] = std::max(sizes[1] * strides[1], sizes[2] * strides[2]);
  return {{sizes.begin(), sizes.end()}, type, memory::dims{strides.begin(), strides.end()}};
}

class DotCall : public compile::LibraryCall {
 public:
  DotCall(const DotForm& form, std::array<memory::data_type, 3> types,
          std::array<int64_t, 3> element_bytes)
      : form_(form), types_(types), bytes_(element_bytes) {
    // Turns of the innermost loop share a call where that is one of all arrays; one of a free
    // dimension cannot be a batch to oneDNN on the side that it does not move.
    if (!form_.loops.empty()) {
      batch_ = form_.loops.back();
      form_.loops.pop_back();
    }
    const int64_t flops = 2 * form_.rows * form_.columns * form_.depth;
    cuts_[0] = std::clamp<int64_t>(kGrainFlops / std::max<int64_t>(flops, 1), 1, batch_.size);
    cuts_[1] = CutOf(form_.rows, 2 * form_.columns * form_.depth);
    cuts_[2] = CutOf(form_.columns, 2 * form_.rows * form_.depth);
    // Cut along the longer side alone.
    (form_.rows >= form_.columns ? cuts_[2] : cuts_[1]) =
        form_.rows >= form_.columns ? form_.columns : form_.rows;
    for (size_t d = 0; d < 3; ++d) counts_[d] = CeilDivide(sizes()[d], cuts_[d]);
  }

  Status Make() {
    return MakeWithOneDnn([&] {
      for (int kind = 0; kind < 8; ++kind) {
        std::array<int64_t, 3> size;
        bool is_met = true;
        for (size_t d = 0; d < 3; ++d) {
          const bool is_last = (kind >> d & 1) != 0;
          const int64_t rest = sizes()[d] - (counts_[d] - 1) * cuts_[d];
          is_met &= is_last ? rest != cuts_[d] : rest == cuts_[d] || counts_[d] > 1;
          size[d] = is_last ? rest : cuts_[d];
        }
        products_.push_back(is_met ? ProductOf(size) : Product());
      }
    });
  }

  int64_t grains() const { return form_.products() * counts_[0] * counts_[1] * counts_[2]; }

  Status Run(const std::byte* const* operands, std::byte* const* results, std::byte*, int64_t begin,
             int64_t end) const override {
    for (int64_t grain = begin; grain < end; ++grain) {
      HLOSCOPE_TRY(RunGrain(grain, operands, results));
    }
    return {};
  }

 private:
  std::array<int64_t, 3> sizes() const { return {batch_.size, form_.rows, form_.columns}; }

  Product ProductOf(std::array<int64_t, 3> size) const {
    const auto [batch, rows, columns] = size;
    Product product;
    product.left = Form({batch_.left == 0 ? 1 : batch, rows, form_.depth}, types_[0],
                        {batch_.left, form_.left_row, form_.left_depth});
    product.right = Form({batch_.right == 0 ? 1 : batch, form_.depth, columns}, types_[1],
                         {batch_.right, form_.right_depth, form_.right_column});
    product.out =
        Form({batch, rows, columns}, types_[2], {batch_.out, form_.out_row, form_.out_column});
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::primitive_desc description(
        dnnl::matmul::desc(product.left, product.right, product.out), attributes, OneDnnEngine());
    product.scratch = description.scratchpad_desc();
    product.primitive = dnnl::matmul(description);
    return product;
  }

  Status RunGrain(int64_t grain, const std::byte* const* operands,
                  std::byte* const* results) const {
    std::array<int64_t, 3> at;
    for (size_t d = 3; d-- > 0; grain /= counts_[d]) at[d] = grain % counts_[d] * cuts_[d];
    int64_t left = at[0] * batch_.left + at[1] * form_.left_row,
            right = at[0] * batch_.right + at[2] * form_.right_column,
            out = at[0] * batch_.out + at[1] * form_.out_row + at[2] * form_.out_column;
    for (size_t l = form_.loops.size(); l-- > 0; grain /= form_.loops[l].size) {
      const DotForm::Loop& loop = form_.loops[l];
      const int64_t index = grain % loop.size;
      left += index * loop.left;
      right += index * loop.right;
      out += index * loop.out;
    }
    size_t kind = 0;
    for (size_t d = 0; d < 3; ++d) kind |= size_t{at[d] + cuts_[d] > sizes()[d]} << d;
    const Product& product = products_[kind];
    const std::array arguments = {
        OneDnnArgument{DNNL_ARG_SRC, &product.left, operands[0] + left * bytes_[0]},
        OneDnnArgument{DNNL_ARG_WEIGHTS, &product.right, operands[1] + right * bytes_[1]},
        OneDnnArgument{DNNL_ARG_DST, &product.out, results[0] + out * bytes_[2]}};
    return RunOneDnn(product.primitive, product.scratch, arguments);
  }

  DotForm form_;           // without the innermost loop
  DotForm::Loop batch_{};  // that one
  std::array<memory::data_type, 3> types_;
  std::array<int64_t, 3> bytes_;
  std::array<int64_t, 3> cuts_{}, counts_{};  // of batch, rows and columns
  std::vector<Product> products_;             // by which of the cuts are the shorter, last ones
};

}  // namespace

Result<compile::KernelCode> MakeDotCall(const Module& module, InstructionId dot) {
  const auto [types, bytes] = ElementTypesOf(module, dot);
  const auto form = compile::DotFormOf(module, dot);
  auto call = std::make_shared<DotCall>(*form, types, bytes);
  HLOSCOPE_TRY(call->Make());
  compile::KernelCode code;
  code.name = "oneDNN matmul";
  code.grains = call->grains();
  code.grain_bytes = kGrainFlops;
  code.library = std::move(call);
  return code;
}

}  // namespace hloscope::codegen
