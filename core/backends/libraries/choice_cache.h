// ChoiceCache: choices that were measured, kept for later processes in the user's cache.
#pragma once

#include <optional>
#include <string>

#include "core/backends/libraries/choice_table.h"
#include "core/base/disk_cache.h"

namespace hloscope::replay::libraries {

class ChoiceCache {
 public:
  ChoiceCache();

  // That of this key, with whatever versions; nullopt: there is none, `why` says where a file of it
  // is refused.
  std::optional<Choice> Load(const ChoiceKey& key, std::string& why) const;
  void Store(const Choice& choice) const;
  const DiskCache& files() const { return files_; }

 private:
  DiskCache files_;
};

}  // namespace hloscope::replay::libraries
