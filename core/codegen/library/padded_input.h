// The input of a convolution as oneDNN takes it: with the holes of base dilation as zeros, and
// without what negative padding cuts off.
#pragma once

#include "core/codegen/library/convolution_form.h"
#include "core/codegen/library/reorder.h"

namespace hloscope::codegen {

class PaddedInput {
 public:
  /// Of that input. What is done here is no longer in `window`. Throws dnnl::error.
  void Make(const ArrayForm& given, std::vector<hlo::WindowDimension>& window);

  bool is_needed() const { return is_needed_; }
  /// As it comes out: the given one where nothing is needed.
  const ArrayForm& form() const { return form_; }
  int64_t bytes() const { return form_.ElementCount() * form_.bytes(); }

  /// `to` has room for all of it.
  Status Run(const std::byte* from, std::byte* to) const;

 private:
  bool is_needed_ = false;
  ArrayForm form_;
  int64_t from_ = 0, to_ = 0;  // bytes before the first element that is copied
  Reorder copy_;               // not needed: no element is left
};

}  // namespace hloscope::codegen
