// UserSource: the user's program, as far as it lies below folders that the user named, or in the
// dump. A dump names its files as it likes: nothing else is ever opened.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

inline constexpr int64_t kMaxSourceBytes = int64_t{4} << 20;

struct UserSource {
  std::string path;  // of the file that was read
  std::vector<std::string> lines;
};

// The parts of a name by which a file is looked for, longest first: "a/b/c.py", "b/c.py", "c.py".
// Empty where a part is "..", or there are more than kMaxParts.
std::vector<std::string> NamesToTry(std::string_view name);

// The regular file of that name below `folder`, of at most kMaxSourceBytes; no part of it is a
// link. Fails where there is none.
Result<UserSource> ReadBelow(const std::string& folder, std::string_view name);

// Looked for in the folders that the user named, then in the dump; read in the background.
const Pending<UserSource>& UserSourceOf(Context& context, const std::string& name);

}  // namespace hloscope::viewer
