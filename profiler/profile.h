// Profile: a trace that was read, whatever its format, and what got lost on the way.
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/jobs.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "profiler/event_store.h"

namespace hloscope::profiler {

enum class ProfileFormat : uint8_t { kXPlane, kChromeJson };
std::string_view ToString(ProfileFormat format);

// An HloProto that the trace carries, in wire format.
struct EmbeddedModule {
  std::string name;
  int64_t program = -1;
  std::string_view hlo_proto;  // bytes of the file
};

// Something that could not be taken into the store: how often, and the first case in words.
struct Loss {
  std::string what;
  int64_t count = 0;
  std::string first;
};

struct Profile {
  Profile(FileView opened, ProfileFormat kind) : file(std::move(opened)), format(kind) {}

  FileView file;
  ProfileFormat format;
  std::shared_ptr<const EventStore> store;
  std::vector<EmbeddedModule> modules;  // of ascending program
  std::vector<std::string> hosts;
  std::vector<std::string> errors, warnings;  // of whoever recorded the trace
  std::vector<Loss> losses;                   // ours
};

// Whether the bytes are of that kind, as far as their structure tells; a file that was cut off is
// one still.
bool IsXSpace(std::string_view bytes);
bool IsChromeTrace(std::string_view bytes);

// Reads a trace, of either format and packed or not; decides by content. Errors: the file cannot be
// read, is no trace, or is broken before the first event; what is broken later is a loss. kDied
// where `stop` was requested.
Result<std::shared_ptr<const Profile>> OpenProfile(const std::string& path, const Limits& limits,
                                                   Jobs& jobs, const std::stop_token& stop = {});
Result<std::shared_ptr<const Profile>> ReadProfile(const FileView& file, const Limits& limits,
                                                   Jobs& jobs, const std::stop_token& stop = {});

}  // namespace hloscope::profiler
