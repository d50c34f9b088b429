// Messages: sentences for the user, shown until they are read.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hloscope::viewer {

enum class Severity : uint8_t { kNote, kWarning, kError };
struct Message {
  Severity severity = Severity::kNote;
  std::string text;
};

class Messages {
 public:
  void Post(Severity severity, std::string text) { all_.push_back({severity, std::move(text)}); }
  const std::vector<Message>& all() const { return all_; }
  void Clear() { all_.clear(); }

 private:
  std::vector<Message> all_;
};

}  // namespace hloscope::viewer
