// Copies of arrays by oneDNN.
#pragma once

#include "core/codegen/library/onednn.h"

namespace hloscope::codegen {

/// A copy of an array in another order, or none where the orders are the same.
class Reorder {
 public:
  /// Throws dnnl::error where oneDNN has no code for it.
  void Make(const dnnl::memory::desc& source, const dnnl::memory::desc& target);
  void MakeUnlessSame(const dnnl::memory::desc& source, const dnnl::memory::desc& target);

  const dnnl::memory::desc& from() const { return from_; }
  const dnnl::memory::desc& to() const { return to_; }
  bool is_needed() const { return is_needed_; }

  Status Run(const std::byte* source, const std::byte* target) const;

 private:
  dnnl::memory::desc from_, to_, scratch_;
  dnnl::reorder primitive_;
  bool is_needed_ = false;
};

}  // namespace hloscope::codegen
