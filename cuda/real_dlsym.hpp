#pragma once

namespace tferry::cuda {

using DlsymFunction = void* (*)(void*, const char*);

/// The C library's dlsym, past any hook of ours. Never null: without it the process could not have started.
DlsymFunction real_dlsym();

}  // namespace tferry::cuda
