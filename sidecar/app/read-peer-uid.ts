// Reads which user opened a connection to a Unix domain socket. Only the kernel can say that without a doubt
// (SO_PEERCRED, unix(7)), and Node has no call for it. The package koffi calls getsockopt(2) of the C library. It is an
// optional peer dependency, and it is loaded only for TOLLGATE_SOCKET.
import type { Socket } from 'node:net';

interface PeerUids {
  /**
   * Returns the effective uid that the process had when it connected. Call it when the connection is accepted. Null: the
   * kernel does not say it.
   */
  read(socket: Socket): number | null;
}

/** Of asm-generic/socket.h. Other architectures have other numbers. */
const numbers = { SOL_SOCKET: 1, SO_PEERCRED: 17 };
const architectures: ReadonlySet<string> = new Set(['x64', 'arm64']);
/** The size of `struct ucred`: pid, uid and gid, 32 bits each. */
const ucredBytes = 12;
const uidAt = 4;
/** The uid -1 means that there is no such user: the kernel knows no peer. */
const noUid = 0xffff_ffff;

export async function openPeerUids(): Promise<PeerUids | { readonly problem: string }> {
  if (process.platform !== 'linux' || !architectures.has(process.arch))
    return { problem: `it is not read on ${process.platform} ${process.arch}` };
  try {
    const { default: koffi } = await import('koffi');
    const getsockopt = koffi.load(null).func('int getsockopt(int fd, int level, int name, _Out_ uint8_t *value, _Inout_ uint32_t *length)');
    return {
      read: (socket) => {
        const fd = descriptorOf(socket);
        if (fd === null) return null;
        const [value, length] = [Buffer.alloc(ucredBytes), [ucredBytes]];
        const result: unknown = getsockopt(fd, numbers.SOL_SOCKET, numbers.SO_PEERCRED, value, length);
        if (result !== 0 || length[0] !== ucredBytes) return null;
        const uid = value.readUInt32LE(uidAt);
        return uid === noUid ? null : uid;
      },
    };
  } catch (error) {
    return { problem: `the package koffi cannot be loaded: ${error instanceof Error ? error.message.split('\n')[0] : 'unknown'}` };
  }
}

/** Node has no public name for the file descriptor of a connection. Null: it is closed. */
function descriptorOf(socket: Socket): number | null {
  const handle: unknown = '_handle' in socket ? socket._handle : null;
  const fd: unknown = typeof handle === 'object' && handle !== null && 'fd' in handle ? handle.fd : null;
  return typeof fd === 'number' && fd >= 0 ? fd : null;
}
