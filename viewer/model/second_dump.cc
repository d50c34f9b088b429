// A document of its own, of which nothing but the dump is looked at.
#include "viewer/model/second_dump.h"

#include <utility>

namespace hloscope::viewer {

void SecondDump::Open(std::string path) {
  if (path.empty() && path_.empty()) return;
  path_ = std::move(path);
  tasks_.Cancel(document_.dump().task);
  cache_.Clear();
  data_.Clear();
  document_.Replace(path_.empty() ? std::vector<std::string>() : std::vector{path_}, tasks_,
                    messages_);
}

bool SecondDump::Update() {
  if (!document_.TakeNews() || !document_.news().any()) return false;
  messages_.Post(Severity::kNote, "second dump: " + ToString(document_.news()) + "; F5 reads both");
  return true;
}

}  // namespace hloscope::viewer
