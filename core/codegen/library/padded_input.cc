#include "core/codegen/library/padded_input.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/compile/library_rules.h"

namespace hloscope::codegen {

namespace {

// Of a dense array of these sizes whose dimensions lie in the same order.
std::vector<int64_t> DenseStrides(const ArrayForm& like, const std::vector<int64_t>& sizes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::less(), [&](size_t d) { return like.strides[d]; });
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (const size_t d : order) {
    strides[d] = stride;
    stride *= std::max<int64_t>(1, sizes[d]);
  }
  return strides;
}

}  // namespace

void PaddedInput::Make(const ArrayForm& given, std::vector<hlo::WindowDimension>& window) {
  is_needed_ = std::ranges::any_of(window, compile::NeedsPaddedInput);
  form_ = given;
  if (!is_needed_) return;
  // Element i of a dimension goes to place i * step + low.
  std::vector<int64_t> steps(given.sizes.size(), 1), first(given.sizes.size());
  ArrayForm source = given;
  for (size_t s = 0; s < window.size(); ++s) {
    hlo::WindowDimension& w = window[s];
    if (!compile::NeedsPaddedInput(w)) continue;
    const size_t d = s + 2;
    const int64_t size = given.sizes[d], step = w.base_dilation, low = w.padding_low;
    form_.sizes[d] = std::max<int64_t>(0, (size - 1) * step + 1) + low + w.padding_high;
    const int64_t begin = low >= 0 ? 0 : (step - 1 - low) / step;
    const int64_t end = (form_.sizes[d] - low + step - 1) / step;
    source.sizes[d] = std::max<int64_t>(0, std::min(size, end) - begin);
    from_ += begin * given.strides[d] * given.bytes();
    first[d] = begin * step + low;
    steps[d] = step;
    w.base_dilation = 1;
    w.padding_low = w.padding_high = 0;
  }
  form_.strides = DenseStrides(given, form_.sizes);
  ArrayForm target = source;
  for (size_t d = 0; d < first.size(); ++d) {
    target.strides[d] = form_.strides[d] * steps[d];
    to_ += first[d] * form_.strides[d] * form_.bytes();
  }
  if (source.ElementCount() > 0) copy_.Make(FormOf(source), FormOf(target));
}

Status PaddedInput::Run(const std::byte* from, std::byte* to) const {
  std::memset(to, 0, static_cast<size_t>(bytes()));
  return copy_.is_needed() ? copy_.Run(from + from_, to + to_) : Status();
}

}  // namespace hloscope::codegen
