// Handles by device and library.
#include <map>

#include "core/backends/cuda/library_work.h"

namespace hloscope::replay::cuda {

Result<std::shared_ptr<const SharedHandle>> SharedHandle::Of(
    const std::shared_ptr<const Device>& device, const std::shared_ptr<const Library>& library,
    Create create, LibraryHandle::GiveBack give_back) {
  static std::mutex mutex;
  static std::map<std::pair<const Device*, const Library*>, std::weak_ptr<const SharedHandle>> all;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const SharedHandle>& known = all[{device.get(), library.get()}];
  if (auto shared = known.lock()) return shared;
  void* made = nullptr;
  HLOSCOPE_TRY(library->Check(create(&made), "starting it"));
  std::shared_ptr<const SharedHandle> shared(
      new SharedHandle(LibraryHandle(device, made, give_back)));
  known = shared;
  return shared;
}

}  // namespace hloscope::replay::cuda
