# Serve like the official image: the first start creates the user and the database.
set -e
bin=$(echo /usr/lib/postgresql/*/bin)
if [ ! -e "$PGDATA/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" > /tmp/password
  "$bin/initdb" -D "$PGDATA" --username "$POSTGRES_USER" --pwfile /tmp/password --auth scram-sha-256 > /dev/null
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
  echo "CREATE DATABASE $POSTGRES_DB" | "$bin/postgres" --single -D "$PGDATA" postgres > /dev/null
fi
exec "$bin/postgres" -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp
