// A log of CUPTI's buffers as they came, for a machine that nobody can look at: what is read from
// them there can be read again anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/base/result.h"
#include "profiler/cupti/decode.h"

namespace hloscope::profiler::cupti {

// Texts by their address in the process that recorded.
using RecordedTexts = std::map<uint64_t, std::string>;

// Whether HLOSCOPE_CUPTI_LOG names a file, to which AppendBuffer adds then.
bool LogsBuffers();
void AppendBuffer(uint32_t version, std::span<const std::byte> records, const RecordedTexts& texts);

// Adds all records of such a file to the log. Input errors: it is cut off, those of DecodeBuffer.
Result<ActivityLog> ReadBufferLog(std::span<const std::byte> bytes, ActivityLog log = {});

}  // namespace hloscope::profiler::cupti
