// `hloscope serve FD`: commands one after the other for the Python package, without starting a
// program for each.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hloscope::app {

// Says "ready" and takes requests from the socket (SOCK_SEQPACKET) until it is closed. A request
// has the standard output and standard error of a command and, each ended by a zero byte: how many
// words, the working folder, the words, the variables of the environment. Each command is a forked
// process, in which this returns its words; the server answers "status N" or "signal N", and
// meanwhile takes the number of a signal for it. In the server this returns nothing, at the end; a
// command that still runs then is killed.
std::optional<std::vector<std::string>> ServeRequests(int socket);

}  // namespace hloscope::app
