// Traces as bytes between two processes.
#pragma once

#include "core/base/byte_archive.h"
#include "core/ptx/trace/trace.h"

namespace hloscope::ptx {

template <typename A>
void Archive(A& a, Archived<A, TracedOperand>& v) {
  a(v.name, v.bytes, v.written, v.guard, v.kind);
}
template <typename A>
void Archive(A& a, Archived<A, TracedInstruction>& v) {
  a(v.line, v.column, v.text, v.opcode, v.type, v.operands);
}
template <typename A>
void Archive(A& a, Archived<A, TracedAccess>& v) {
  a(v.space, v.number, v.offset, v.bytes, v.writes, v.first_byte, v.held, v.from, v.writer,
    v.beside[0], v.beside[1], v.readers);
}
template <typename A>
void Archive(A& a, Archived<A, ThreadTrace>& v) {
  a(v.thread, v.first, v.executed, v.steps, v.values, v.accesses, v.bytes);
}
template <typename A>
void Archive(A& a, Archived<A, Fault>& v) {
  a(v.what, v.kernel, v.place.file, v.place.line, v.place.column, v.form, v.block, v.thread,
    v.address, v.argument);
}
template <typename A>
void Archive(A& a, Archived<A, BlockTrace>& v) {
  a(v.kernel, v.file, v.block, v.instructions, v.threads, v.shared_stores, v.fault);
}

}  // namespace hloscope::ptx
