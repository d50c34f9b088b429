// AutotuneCache: choices that were measured, kept for later processes in the user's cache.
#pragma once

#include <optional>
#include <string>

#include "core/backends/libraries/autotune_table.h"
#include "core/base/disk_cache.h"

namespace hloscope::replay::libraries {

class AutotuneCache {
 public:
  AutotuneCache();

  // That of this key, with whatever versions; nullopt: there is none, `why` says where a file of it
  // is refused.
  std::optional<AutotuneResult> Load(const AutotuneKey& key, std::string& why) const;
  void Store(const AutotuneResult& choice) const;
  const DiskCache& files() const { return files_; }

 private:
  DiskCache files_;
};

}  // namespace hloscope::replay::libraries
