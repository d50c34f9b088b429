#include "core/dump/plan_file.h"

#include <fmt/format.h>

#include "core/base/byte_archive.h"
#include "core/base/deflate.h"

namespace hloscope::dump {

namespace {

constexpr const char* kAgain = "write it again: `hloscope compile --emit plan`";

}  // namespace

Result<PlanFile> OpenPlanFile(std::string_view bytes) {
  if (!bytes.starts_with(kPlanFileMark)) return InputError("this is not a .hloplan");
  PlanFile out;
  bytes.remove_prefix(kPlanFileMark.size());
  ByteReader head(std::as_bytes(std::span(bytes)));
  const auto version = head.Get<uint32_t>(), checksum = head.Get<uint32_t>();
  if (!head.ok()) return InputError("this .hloplan is cut off", kAgain);
  if (version < 1 || version > kPlanFileVersion) {
    return InputError(
        fmt::format("this .hloplan is of version {}, expected 1 to {}", version, kPlanFileVersion),
        "a newer hloscope made it");
  }
  out.version = version;
  bytes.remove_prefix(sizeof version + sizeof checksum);
  if (Crc32(bytes) != checksum) {
    return InputError("this .hloplan is damaged or cut off: its checksum does not match", kAgain);
  }
  const auto all = std::as_bytes(std::span(bytes));
  ByteReader in(all);
  const auto size = in.Get<uint64_t>();
  out.module = in.Raw(size);
  if (!in.ok()) return InputError("this .hloplan is cut off", kAgain);
  out.rest = all.subspan(sizeof size + out.module.size());
  return out;
}

std::string WritePlanFile(std::string_view module, std::string_view rest) {
  ByteWriter body;
  body(uint64_t{module.size()});
  body.Raw(std::as_bytes(std::span(module)));
  body.Raw(std::as_bytes(std::span(rest)));
  ByteWriter out;
  out.Raw(std::as_bytes(std::span(kPlanFileMark)));
  out(kPlanFileVersion, Crc32(body.bytes()));
  out.Raw(std::as_bytes(std::span(body.bytes())));
  return std::move(out).Take();
}

}  // namespace hloscope::dump
