// Each buffer: its version, records and texts, by ByteWriter.
#include "profiler/cupti/buffer_log.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/base/byte_archive.h"

namespace hloscope::profiler::cupti {
namespace {

const char* LogFile() {
  const char* const path = std::getenv("HLOSCOPE_CUPTI_LOG");
  return path == nullptr || *path == '\0' ? nullptr : path;
}

}  // namespace

bool LogsBuffers() { return LogFile() != nullptr; }

void AppendBuffer(uint32_t version, std::span<const std::byte> records,
                  const RecordedTexts& texts) {
  std::vector<uint64_t> addresses;
  std::vector<std::string> strings;
  for (const auto& [address, text] : texts) {
    addresses.push_back(address);
    strings.push_back(text);
  }
  ByteWriter out;
  out(version, std::vector<std::byte>(records.begin(), records.end()), addresses, strings);
  const std::string bytes = std::move(out).Take();
  const uint64_t size = bytes.size();
  std::FILE* const file = std::fopen(LogFile(), "ab");
  if (file == nullptr) return;
  std::fwrite(&size, sizeof size, 1, file);
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
}

Result<ActivityLog> ReadBufferLog(std::span<const std::byte> bytes, ActivityLog log) {
  const auto cut_off = [] {
    return InputError("a log of CUPTI's buffers is cut off", "record it again");
  };
  while (!bytes.empty()) {
    uint64_t size = 0;
    if (bytes.size() < sizeof size) return cut_off();
    std::memcpy(&size, bytes.data(), sizeof size);
    bytes = bytes.subspan(sizeof size);
    if (bytes.size() < size) return cut_off();
    ByteReader in(bytes.first(size));
    bytes = bytes.subspan(size);
    uint32_t version = 0;
    std::vector<std::byte> records;
    std::vector<uint64_t> addresses;
    std::vector<std::string> strings;
    in(version, records, addresses, strings);
    if (!in.ok() || addresses.size() != strings.size()) return cut_off();
    RecordedTexts texts;
    for (size_t i = 0; i < addresses.size(); ++i) texts[addresses[i]] = std::move(strings[i]);
    const auto text_at = [&](const char* address) {
      const auto found = texts.find(reinterpret_cast<uintptr_t>(address));
      return found == texts.end() ? std::string("?") : found->second;
    };
    HLOSCOPE_TRY(DecodeBuffer(records, version, text_at, log));
  }
  return log;
}

}  // namespace hloscope::profiler::cupti
