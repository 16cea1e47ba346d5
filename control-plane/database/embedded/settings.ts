// Settings of the embedded PostgreSQL. They are given on the command line at each start, so that a cluster that an
// older Tollgate created runs with the present values. fsync and synchronous_commit stay on. Called by `postmaster.ts`
// and `cluster.ts`.

export const superuser = 'tollgate';
export const databaseName = 'tollgate';
export const port = 5432;

export const serverSettings = {
  // No TCP. The socket is in the working directory, which is the cluster. This folder is private, and the path is never
  // too long.
  listen_addresses: '',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  port: String(port),

  // For a small machine: about 100 MB and a few processes.
  shared_buffers: '64MB',
  max_connections: '50',
  max_wal_size: '256MB',
  min_wal_size: '32MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  // Without workers, its launcher does not run.
  max_logical_replication_workers: '0',
  max_worker_processes: '2',
  max_parallel_workers_per_gather: '0',
  autovacuum_worker_slots: '2',
  autovacuum_max_workers: '2',
  io_method: 'sync',
  jit: 'off',

  // If a control plane was killed, its query ends soon afterwards, and the locks are released.
  client_connection_check_interval: '2s',

  TimeZone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  // Failed SQL is reported by its caller. It is not written to this log, because the statement could leave secrets in a
  // file.
  log_min_error_statement: 'panic',
};
