// From the selection and its counterparts to a kernel.
#include "viewer/facts/kernel_of_selection.h"

#include "viewer/model/navigation.h"

namespace hloscope::viewer {

int32_t KernelOfSelection(Context& context, const dump::KernelTable& table) {
  const Selection& now = context.navigation.selection();
  // A selection kept from a dump that has changed may name a kernel that is gone.
  if (now.kind == SelectionKind::kKernel) {
    return now.kernel >= 0 && now.kernel < std::ssize(table.kernels) ? now.kernel : -1;
  }
  if (now.kind <= SelectionKind::kStage) return -1;
  const Counterparts& found = context.navigation.counterparts();
  const bool is_known =
      !found.kernels.empty() && static_cast<size_t>(found.kernels.front()) < table.kernels.size();
  return is_known ? found.kernels.front() : -1;
}

}  // namespace hloscope::viewer
